import type { ImportRow, ImportUpdated, ImportUpdates } from '#contract/dashboard.ts'
import type { NewMonitors } from '#contract/monitors.ts'
import { ApiProblem } from '../api.ts'

/** The API's bounds. */
const CHUNK = { make: 1_000, update: 100 }

/** A row and its place in the plan. */
export type Placed = { at: number; row: ImportRow }

export type Run = {
  total: number
  /** Rows of which the fate is known: made, updated, there already, or refused. */
  done: number
  made: number
  updated: number
  /** By place in the plan, why it was not made. */
  refused: ReadonlyMap<number, string>
  /** Why it ended before all rows were done. */
  problem: unknown
  /** Seconds that the server asked to wait before it goes on. */
  waits: number
}

export type RunDeps = {
  /** How many were made. */
  post: (body: NewMonitors) => Promise<number>
  update: (body: ImportUpdates) => Promise<ImportUpdated>
  sleep: (seconds: number) => Promise<void>
  onProgress: (run: Run) => void
}

type Shared = Pick<NewMonitors, 'group' | 'notify' | 'frequency'>

type Chunk = { kind: 'make' | 'update'; rows: readonly Placed[] }

/**
 * Makes the rows in chunks, one after the other, and updates the monitors of those that differ. What the server refuses of a
 * chunk is left out and the rest made. Ends early, with what is made so far, where going on is of no use.
 */
export async function runImport(rows: readonly Placed[], shared: Shared, deps: RunDeps): Promise<Run> {
  let run: Run = { total: rows.length, done: 0, made: 0, updated: 0, refused: new Map(), problem: undefined, waits: 0 }
  const tell = (change: Partial<Run>) => {
    run = { ...run, ...change }
    deps.onProgress(run)
  }
  const queue = chunksOf(rows)
  tell({})
  for (let chunk = queue.shift(); chunk !== undefined; chunk = queue.shift()) {
    const { kind, rows: sent } = chunk
    try {
      if (kind === 'make') {
        const made = await deps.post({ ...shared, monitors: sent.map(({ row }) => itemOf(row)), ignore: true })
        tell({ made: run.made + made, done: run.done + sent.length, waits: 0 })
      } else {
        const { updated, refused } = await deps.update({ updates: sent.flatMap(({ row }) => updateOf(row)) })
        const placeOf = new Map(sent.map(({ at, row }) => [row.monitor?.id, at]))
        const whys = refused.map(({ id, why }) => [placeOf.get(id)!, why] as const)
        const all = new Map([...run.refused, ...whys])
        tell({ updated: run.updated + updated, refused: all, done: run.done + sent.length, waits: 0 })
      }
    } catch (problem) {
      const refused = refusedOf(problem, sent)
      if (refused.size > 0) {
        tell({ refused: new Map([...run.refused, ...refused]), done: run.done + refused.size })
        const rest = sent.filter(({ at }) => !refused.has(at))
        if (rest.length > 0) queue.unshift({ kind, rows: rest })
      } else if (problem instanceof ApiProblem && (problem.status === 429 || problem.status === 503)) {
        tell({ waits: problem.retryAfter ?? 5 })
        await deps.sleep(run.waits)
        queue.unshift(chunk)
      } else {
        tell({ problem, waits: 0 })
        return run
      }
    }
  }
  return run
}

function chunksOf(rows: readonly Placed[]): Chunk[] {
  const toMake = rows.filter(({ row }) => row.fate === 'make')
  const toUpdate = rows.filter(({ row }) => row.fate === 'differs')
  const chunks = (kind: Chunk['kind'], all: readonly Placed[]) =>
    Array.from({ length: Math.ceil(all.length / CHUNK[kind]) }, (_, at) => ({
      kind,
      rows: all.slice(at * CHUNK[kind], (at + 1) * CHUNK[kind]),
    }))
  return [...chunks('make', toMake), ...chunks('update', toUpdate)]
}

type Update = ImportUpdates['updates'][number]

/** Of a monitor that the external id names, the name, type and group may be other ones too. */
function updateOf(row: ImportRow): Update[] {
  const { monitor, expected_value, is_exact_match, full_domain, group } = row
  if (!monitor) return []
  const was = { expected_value: monitor.expected_value, is_exact_match: monitor.is_exact_match }
  const update = { id: monitor.id, was, expected_value, is_exact_match }
  if (row.external_id === null) return [update]
  const record_type = row.record_type as NonNullable<Update['record_type']>
  return [{ ...update, full_domain, record_type, ...(group === null ? {} : { group }), ...labelsOf(row) }]
}

/** What the row says itself wins over what is said for all. */
function itemOf(row: ImportRow): NewMonitors['monitors'][number] {
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

/** The server's sentences against single items, by their place in the plan. */
function refusedOf(problem: unknown, chunk: readonly Placed[]): Map<number, string> {
  const refused = new Map<number, string>()
  if (!(problem instanceof ApiProblem)) return refused
  for (const [path, sentence] of Object.entries(problem.errors)) {
    const place = /^monitors\.(\d+)\./.exec(path)?.[1]
    const placed = place === undefined ? undefined : chunk[Number(place)]
    if (placed) refused.set(placed.at, sentence)
  }
  return refused
}
