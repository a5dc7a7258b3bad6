import type { ImportRow, ImportUpdated, ImportUpdates } from '#contract/dashboard.ts'
import type { NewMonitors } from '#contract/monitors.ts'
import { ApiProblem } from '../../api.ts'

/** The limits of the API. */
const CHUNK_SIZE = { create: 1_000, update: 100 }

/** A row and its index in the plan. */
export type IndexedRow = { index: number; row: ImportRow }

export type Run = {
  total: number
  /** Rows that were created, updated, skipped or rejected. */
  done: number
  created: number
  updated: number
  /** By place in the plan, why it before not created. */
  rejected: ReadonlyMap<number, string>
  /** Why the run ended early. */
  problem: unknown
  /** Seconds until the run continues, when the server asked to wait. */
  waitSeconds: number
}

export type RunDeps = {
  /** Returns how many monitors were created. */
  post: (body: NewMonitors) => Promise<number>
  update: (body: ImportUpdates) => Promise<ImportUpdated>
  wait: (seconds: number) => Promise<void>
  onProgress: (run: Run) => void
}

type SharedSettings = Pick<NewMonitors, 'group' | 'notify' | 'frequency'>

type Chunk = { kind: 'create' | 'update'; rows: readonly IndexedRow[] }

/**
 * Creates the monitors of new rows and updates those of rows that differ, one chunk after the other. When the server rejects
 * rows, it sends the chunk again without them. Any other error ends the run.
 */
export async function runImport(rows: readonly IndexedRow[], shared: SharedSettings, deps: RunDeps): Promise<Run> {
  let run: Run = {
    total: rows.length,
    done: 0,
    created: 0,
    updated: 0,
    rejected: new Map(),
    problem: undefined,
    waitSeconds: 0,
  }
  const report = (change: Partial<Run>) => {
    run = { ...run, ...change }
    deps.onProgress(run)
  }
  const queue = chunksOf(rows)
  report({})
  for (let chunk = queue.shift(); chunk !== undefined; chunk = queue.shift()) {
    const { kind, rows: sent } = chunk
    try {
      if (kind === 'create') {
        const created = await deps.post({ ...shared, monitors: sent.map(({ row }) => newMonitorOf(row)), ignore: true })
        report({ created: run.created + created, done: run.done + sent.length, waitSeconds: 0 })
      } else {
        const { updated, refused } = await deps.update({ updates: sent.flatMap(({ row }) => updateOf(row)) })
        const indexById = new Map(sent.map(({ index, row }) => [row.monitor?.id, index]))
        const reasons = refused.map(({ id, reason }) => [indexById.get(id)!, reason] as const)
        const all = new Map([...run.rejected, ...reasons])
        report({ updated: run.updated + updated, rejected: all, done: run.done + sent.length, waitSeconds: 0 })
      }
    } catch (problem) {
      const rejected = rejectedRows(problem, sent)
      if (rejected.size > 0) {
        report({ rejected: new Map([...run.rejected, ...rejected]), done: run.done + rejected.size })
        const rest = sent.filter(({ index }) => !rejected.has(index))
        if (rest.length > 0) queue.unshift({ kind, rows: rest })
      } else if (problem instanceof ApiProblem && (problem.status === 429 || problem.status === 503)) {
        report({ waitSeconds: problem.retryAfter ?? 5 })
        await deps.wait(run.waitSeconds)
        queue.unshift(chunk)
      } else {
        report({ problem, waitSeconds: 0 })
        return run
      }
    }
  }
  return run
}

function chunksOf(rows: readonly IndexedRow[]): Chunk[] {
  const toCreate = rows.filter(({ row }) => row.result === 'create')
  const toUpdate = rows.filter(({ row }) => row.result === 'update')
  const chunks = (kind: Chunk['kind'], all: readonly IndexedRow[]) =>
    Array.from({ length: Math.ceil(all.length / CHUNK_SIZE[kind]) }, (_, index) => ({
      kind,
      rows: all.slice(index * CHUNK_SIZE[kind], (index + 1) * CHUNK_SIZE[kind]),
    }))
  return [...chunks('create', toCreate), ...chunks('update', toUpdate)]
}

type Update = ImportUpdates['updates'][number]

/** With an external id, name, type and group may change too. */
function updateOf(row: ImportRow): Update[] {
  const { monitor, expected_value, is_exact_match, full_domain, group } = row
  if (!monitor) return []
  const before = { expected_value: monitor.expected_value, is_exact_match: monitor.is_exact_match }
  const update = { id: monitor.id, was: before, expected_value, is_exact_match }
  if (row.external_id === null) return [update]
  const record_type = row.record_type as NonNullable<Update['record_type']>
  return [{ ...update, full_domain, record_type, ...(group === null ? {} : { group }), ...labelsOf(row) }]
}

/** Settings of the row override the shared ones. */
function newMonitorOf(row: ImportRow): NewMonitors['monitors'][number] {
  const { full_domain, record_type, expected_value, is_exact_match, group, notify, frequency, external_id } = row
  return {
    full_domain,
    record_type: record_type as NewMonitors['monitors'][number]['record_type'],
    expected_value,
    is_exact_match,
    ...(group === null ? {} : { group }),
    ...(notify === null ? {} : { notify: notify as NonNullable<NewMonitors['notify']> }),
    ...(frequency === null ? {} : { frequency }),
    ...(external_id === null ? {} : { external_id }),
    ...labelsOf(row),
  }
}

const labelsOf = ({ tags, metadata }: ImportRow) => ({
  ...(tags === null ? {} : { tags }),
  ...(metadata === null ? {} : { metadata }),
})

/** The error messages for single rows, by their index in the plan. */
function rejectedRows(problem: unknown, chunk: readonly IndexedRow[]): Map<number, string> {
  const rejected = new Map<number, string>()
  if (!(problem instanceof ApiProblem)) return rejected
  for (const [path, message] of Object.entries(problem.errors)) {
    const position = /^monitors\.(\d+)\./.exec(path)?.[1]
    const row = position === undefined ? undefined : chunk[Number(position)]
    if (row) rejected.set(row.index, message)
  }
  return rejected
}
