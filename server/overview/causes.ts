import { type CauseReason, causeReasonOf, commonValues } from '#contract/causes.ts'
import type { Cause, Failing } from '#contract/dashboard.ts'
import type { Event } from '#contract/events.ts'
import type { MonitorState } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { isFailing } from '../monitors/incident-membership.ts'
import { toIsoOrNull } from '../times.ts'
import {
  countFailingGroups,
  type FailingGroup,
  type FailingGroups,
  type FailingMonitor,
  findReasons,
  listFailingMonitors,
  listOutsideIncidents,
} from './store.ts'

/** Causes in a response, and monitors of each. */
export const MAX_CAUSES = 20
const MONITORS_PER_CAUSE = 5
/** Monitors of one domain and state that are grouped by their answers. More are one cause. */
const MAX_GROUPED = 50
/** Monitors outside of incidents that are grouped by cause, if there are incidents. */
const MAX_OUTSIDE = 500
/** New groups that are added to the largest. */
const MAX_NEW = 10

type CauseGroup = { failingGroup: FailingGroup; monitors: FailingMonitor[]; count: number }

/**
 * What fails outside of incidents, by cause: monitors of one domain with the same state and answer, awaited ones apart. The largest cause
 * comes first; of equal ones the newest. `recent`: the newest events, so that new failures are included even if many older ones are larger.
 */
export async function findCauses(
  db: Database,
  tenant: Tenant,
  failing: Failing,
  failingGroups: FailingGroups,
  recent: readonly Event[],
): Promise<{ attention: Cause[]; more: number }> {
  if (failing.monitors === failing.in_incidents) return { attention: [], more: 0 }
  const { groups, unlisted } =
    failing.in_incidents === 0
      ? await groupAll(db, tenant, failingGroups, recent)
      : { groups: groupOutside(await listOutsideIncidents(db, tenant, MAX_OUTSIDE)), unlisted: 0 }
  const sorted = groups
    .map((group) => ({ ...group, since: sinceOf(group) }))
    .sort((a, b) => b.count - a.count || (b.since ?? 0) - (a.since ?? 0))
  const largestGroups = sorted.slice(0, MAX_CAUSES)
  const singleMonitors = largestGroups.flatMap(({ failingGroup, monitors: [first], count }) =>
    count === 1 && first && HAS_CHECK_REASON.has(failingGroup.state) ? [first.id] : [],
  )
  const reasons = await findReasons(db, tenant, singleMonitors)
  return {
    attention: largestGroups.map((group) => toCause(group, reasons)),
    more: unlisted + sorted.length - largestGroups.length,
  }
}

/** Without incidents: all that fails. `unlisted`: the groups of which no monitors were read. */
async function groupAll(
  db: Database,
  tenant: Tenant,
  { largest, groupCount }: FailingGroups,
  recent: readonly Event[],
): Promise<{ groups: CauseGroup[]; unlisted: number }> {
  const failingGroups = [...largest, ...(await recentGroups(db, tenant.organizationId, largest, recent))]
  const monitors = await listFailingMonitors(db, tenant, failingGroups, MAX_GROUPED)
  const monitorsByGroup = Map.groupBy(monitors, keyOf)
  const groups = failingGroups.flatMap((group) => splitByAnswer(group, monitorsByGroup.get(keyOf(group)) ?? []))
  return { groups, unlisted: Math.max(0, groupCount - failingGroups.length) }
}

const groupOutside = (monitors: readonly FailingMonitor[]): CauseGroup[] =>
  [...Map.groupBy(monitors, keyOf).values()].flatMap((group) => {
    const { state, domain } = group[0]!
    return splitByAnswer({ state, domain, count: group.length }, group)
  })

const keyOf = ({ state, domain }: Pick<FailingGroup, 'state' | 'domain'>) => `${state} ${domain}`
/** The states in which the reason of the check says more than the state. */
const HAS_CHECK_REASON: ReadonlySet<MonitorState> = new Set([
  ...(['MISMATCH', 'INVALID', 'BAD_SETUP', 'NOT_FOUND', 'NO_DATA'] as const),
])

/** Groups with recent events that are too small to be among the largest. */
async function recentGroups(
  db: Database,
  organizationId: string,
  largest: readonly FailingGroup[],
  recent: readonly Event[],
): Promise<FailingGroup[]> {
  if (largest.length < MAX_CAUSES) return []
  const largestKeys = new Set(largest.map(keyOf))
  const otherGroups = new Map(
    recent
      .map(({ new_state: state, domain: { domain } }) => ({ state, domain }))
      .filter((group) => isFailing(group.state) && !largestKeys.has(keyOf(group)))
      .map((group) => [keyOf(group), group]),
  )
  return await countFailingGroups(db, { organizationId }, [...otherGroups.values()].slice(0, MAX_NEW))
}

function splitByAnswer(failingGroup: FailingGroup, monitors: FailingMonitor[]): CauseGroup[] {
  if (failingGroup.count > monitors.length) return [{ failingGroup, monitors, count: failingGroup.count }]
  const byAnswer = new Map<string, FailingMonitor[]>()
  for (const monitor of monitors) {
    const answer = `${monitor.is_awaited} ${failingGroup.state === 'MISMATCH' ? monitor.current_values : ''}`
    byAnswer.set(answer, [...(byAnswer.get(answer) ?? []), monitor])
  }
  return [...byAnswer.values()].map((group) => ({ failingGroup, monitors: group, count: group.length }))
}

function sinceOf({ monitors }: CauseGroup): number | null {
  const times = monitors.flatMap(({ since }) => (since === null ? [] : [since]))
  return times.length === 0 ? null : Math.min(...times)
}

function toCause(group: CauseGroup & { since: number | null }, reasons: ReadonlyMap<string, CauseReason>): Cause {
  const { failingGroup, monitors, count, since } = group
  const [first] = monitors
  const isComplete = count === monitors.length
  const current = isComplete ? commonValues(monitors.map(({ current_values }) => current_values)) : undefined
  const expected = isComplete ? commonValues(monitors.map(({ expected_values }) => expected_values)) : undefined
  const reason = first && reasons.get(first.id)
  return {
    reason: causeReasonOf({
      ...failingGroup,
      count,
      owner: first?.owner || '.',
      recordType: first?.record_type ?? '',
      ...(current ? { current } : {}),
      ...(expected ? { expected } : {}),
      ...(reason === undefined ? {} : { reason }),
    }),
    state: failingGroup.state,
    domain: failingGroup.domain,
    is_awaited: isComplete && monitors.every(({ is_awaited }) => is_awaited === 1),
    since: toIsoOrNull(since),
    monitors: monitors
      .slice(0, MONITORS_PER_CAUSE)
      .map(({ id, owner, record_type }) => ({ id, name: owner || '.', record_type: record_type as MonitorRecordType })),
    count,
  }
}
