import packageJson from '../../package.json' with { type: 'json' }
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Metrics, RecentQueries } from '../metrics/metrics.ts'

/** An instance that was silent for longer than this does not run, as far as anybody can tell. */
export const ALIVE_MS = 8_000
const MOST_SHOWN = 200

/** What an instance writes about itself every 2 seconds (`processes.report`), so that every node can show all of them. */
export type InstanceReport = {
  version: string
  roles: string[]
  memory: number
  /** Checks of the last minute, and how late they began. */
  checks: { count: number; average_late_ms: number | null; most_late_ms: number }
  upstreams: RecentQueries[]
}

export function reportOf(
  { metrics, clock }: { metrics: Metrics; clock: Clock },
  roles: Iterable<string>,
): InstanceReport {
  const { lateness, upstreams } = metrics.recent(clock.elapsed())
  return {
    version: packageJson.version,
    roles: [...roles],
    memory: process.memoryUsage.rss(),
    checks: { count: lateness.count, average_late_ms: lateness.averageMs, most_late_ms: lateness.mostMs },
    upstreams,
  }
}

export type Instance = {
  id: number
  pid: number
  machine: string
  started_at: number
  seen_at: number
  network: 'well' | 'captive' | 'gone' | null
  /** Null until the instance has said so, and from one of the version before. */
  report: InstanceReport | null
}

/** Those that were seen last, newest first. */
export async function readInstances(db: Database): Promise<Instance[]> {
  const rows = await db
    .selectFrom('processes')
    .select(['id', 'pid', 'machine', 'started_at', 'seen_at', 'network', 'report'])
    .orderBy('id', 'desc')
    .limit(MOST_SHOWN)
    .execute()
  return rows.map((row) => ({ ...row, report: row.report === null ? null : JSON.parse(row.report) }))
}
