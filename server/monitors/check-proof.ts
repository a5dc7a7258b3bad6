import type { ChecksQuery, MonitorChecks, OrganizationChecks } from '#contract/checks.ts'
import type { RequestContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { DAY_MS, parsePeriod, parseTimes, toIso, toIsoOrNull } from '../times.ts'
import { LATE_MS } from './check-gaps.ts'
import type { CountedGap } from './check-history.ts'
import {
  getMonitorHistory,
  getOrganizationHistory,
  lengthOf,
  type MonitorHistory,
  type Period,
} from './check-history-store.ts'

const DEFAULT_PERIOD_MS = 30 * DAY_MS

/** The last 30 days by default. Throws a 400. */
export function proofPeriod({ since, until }: ChecksQuery, now: number): Period {
  if (since !== undefined) return parsePeriod({ since, until }, now)
  const end = parseTimes({ until }, ['until']).until ?? now
  return { since: end - DEFAULT_PERIOD_MS, until: end }
}

/** What was checked of a monitor in a period. Throws `not_found`. */
export async function getMonitorProof(
  db: Database,
  context: RequestContext,
  monitorId: string,
  period: Period,
): Promise<MonitorChecks> {
  const history = await getMonitorHistory(db, context, monitorId, period, context.now)
  const gap = (counted: CountedGap) => describeGap(counted, context.now)
  return {
    ...summaryOf(history),
    last_checked: toIsoOrNull(history.lastCheckedAt),
    longest_gap: history.longest ? gap(history.longest) : null,
    gaps: history.gaps.map(gap),
  }
}

/** What was checked of all monitors in a period. A part of it if `stop` is aborted. Throws a 400 for too many gaps. */
export async function getOrganizationProof(
  db: Database,
  context: RequestContext,
  period: Period,
  stop: AbortSignal,
): Promise<OrganizationChecks> {
  const history = await getOrganizationHistory(db, context, period, context.now, { stop })
  const gap = (counted: CountedGap & { monitorId: string }) => ({
    monitor_id: counted.monitorId,
    ...describeGap(counted, context.now),
  })
  return {
    ...summaryOf(history),
    monitors: history.monitors,
    longest_gap: history.longest ? gap(history.longest) : null,
    gaps: history.gaps.map(gap),
  }
}

const summaryOf = ({ period, due, done, late, missed, withheld, gapCount }: MonitorHistory) => ({
  ...{ since: toIso(period.since), until: toIso(period.until), tolerance_seconds: LATE_MS / 1_000 },
  ...{ due, done, late, missed, withheld, gap_count: gapCount },
})

const describeGap = ({ from, until, missed, withheld }: CountedGap, now: number) => ({
  ...{
    since: toIso(from),
    until: toIsoOrNull(until),
    seconds: lengthOf({ from, until, missed, withheld }, now) / 1_000,
  },
  ...{ missed, withheld },
})
