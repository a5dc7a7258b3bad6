import type { ImportRow } from '#contract/dashboard.ts'
import type { NewMonitors } from '#contract/monitors.ts'
import { ApiProblem } from '../api.ts'

/** The API's bound. */
const CHUNK = 1_000

/** A row and its place in the plan. */
export type Placed = { at: number; row: ImportRow }

export type Run = {
  total: number
  /** Rows of which the fate is known: made, there already, or refused. */
  done: number
  made: number
  /** By place in the plan, why it was not made. */
  refused: ReadonlyMap<number, string>
  /** Why it ended before all rows were done. */
  problem: unknown
  /** Seconds that the server asked to wait before it goes on. */
  waits: number
}

export type RunDoors = {
  /** How many were made. */
  post: (body: NewMonitors) => Promise<number>
  sleep: (seconds: number) => Promise<void>
  onProgress: (run: Run) => void
}

type Shared = Pick<NewMonitors, 'group' | 'notify' | 'frequency'>

/**
 * Makes the rows in chunks, one after the other. What the server refuses of a chunk is left out and the rest made. Ends early,
 * with what is made so far, where going on is of no use.
 */
export async function runImport(rows: readonly Placed[], shared: Shared, doors: RunDoors): Promise<Run> {
  let run: Run = { total: rows.length, done: 0, made: 0, refused: new Map(), problem: undefined, waits: 0 }
  const tell = (change: Partial<Run>) => {
    run = { ...run, ...change }
    doors.onProgress(run)
  }
  const queue = Array.from({ length: Math.ceil(rows.length / CHUNK) }, (_, at) =>
    rows.slice(at * CHUNK, (at + 1) * CHUNK),
  )
  tell({})
  for (let chunk = queue.shift(); chunk !== undefined; chunk = queue.shift()) {
    try {
      const made = await doors.post({ ...shared, monitors: chunk.map(({ row }) => itemOf(row)), ignore: true })
      tell({ made: run.made + made, done: run.done + chunk.length, waits: 0 })
    } catch (problem) {
      const refused = refusedOf(problem, chunk)
      if (refused.size > 0) {
        tell({ refused: new Map([...run.refused, ...refused]), done: run.done + refused.size })
        const rest = chunk.filter(({ at }) => !refused.has(at))
        if (rest.length > 0) queue.unshift(rest)
      } else if (problem instanceof ApiProblem && (problem.status === 429 || problem.status === 503)) {
        tell({ waits: problem.retryAfter ?? 5 })
        await doors.sleep(run.waits)
        queue.unshift(chunk)
      } else {
        tell({ problem, waits: 0 })
        return run
      }
    }
  }
  return run
}

/** What the row says itself wins over what is said for all. */
function itemOf(row: ImportRow): NewMonitors['monitors'][number] {
  const { full_domain, record_type, expected_value, is_exact_match, group, notify, frequency } = row
  return {
    full_domain,
    record_type: record_type as NewMonitors['monitors'][number]['record_type'],
    expected_value,
    is_exact_match,
    ...(group === null ? {} : { group }),
    ...(notify === null ? {} : { notify: notify as NonNullable<NewMonitors['notify']> }),
    ...(frequency === null ? {} : { frequency }),
  }
}

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
