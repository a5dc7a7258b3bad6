import type { NetworkState } from '#contract/server.ts'
import packageJson from '../../package.json' with { type: 'json' }
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Metrics, RecentQueries } from '../metrics/metrics.ts'
import { ALIVE_MS } from '../queue/heartbeat.ts'

const MAX_INSTANCES = 200

/** What an instance writes into `processes.report` every 2 s, so that every node can show all instances. */
export type InstanceReport = {
  version: string
  roles: string[]
  memory: number
  /** Checks of the last minute, and how late they started. */
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
    checks: { count: lateness.count, average_late_ms: lateness.averageMs, most_late_ms: lateness.maxMs },
    upstreams,
  }
}

export type Instance = {
  id: number
  pid: number
  machine: string
  started_at: number
  seen_at: number
  network: NetworkState | null
  /** Null until the first report. */
  report: InstanceReport | null
}

export const isInstanceAlive = ({ seen_at }: Pick<Instance, 'seen_at'>, now: number) => seen_at >= now - ALIVE_MS

/** Newest first, at most 200. */
export async function readInstances(db: Database): Promise<Instance[]> {
  const rows = await db
    .selectFrom('processes')
    .select(['id', 'pid', 'machine', 'started_at', 'seen_at', 'network_state as network', 'report'])
    .orderBy('id', 'desc')
    .limit(MAX_INSTANCES)
    .execute()
  return rows.map((row) => ({ ...row, report: row.report === null ? null : JSON.parse(row.report) }))
}
