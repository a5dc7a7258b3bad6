import { type CauseReason, causeReason } from '#contract/causes.ts'
import type { Cause } from '#contract/dashboard.ts'
import type { Event } from '#contract/events.ts'
import type { MonitorState } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { toIsoOrNull } from '../http/times.ts'
import {
  type FailingMonitor,
  failingMonitors,
  reasonsOf,
  type Trouble,
  type Troubles,
  troublesOf,
} from './overview-store.ts'

/** Causes that are shown, and monitors of each. */
export const MOST_CAUSES = 20
const SHOWN = 5
/** Monitors of one domain in one state that are grouped by what they answer; more are one cause. */
const MOST_GROUPED = 50
/** Troubles that have just begun. */
const MOST_NEW = 10

type Group = { trouble: Trouble; monitors: FailingMonitor[]; count: number }

/**
 * What fails now, by cause: the monitors of one domain that fail alike and answer the same. The largest come first, and of
 * equal size the newest. `recent`: newest events, so that what has just begun is among them however much has failed for long.
 */
export async function attentionOf(
  db: Database,
  tenant: Tenant,
  { largest, all }: Troubles,
  recent: readonly Event[],
): Promise<{ attention: Cause[]; more: number }> {
  const { organizationId } = tenant
  const troubles = [...largest, ...(await newest(db, organizationId, largest, recent))]
  const monitors = await failingMonitors(db, tenant, troubles, MOST_GROUPED)
  const ofPlace = Map.groupBy(monitors, ({ place }) => place)
  const groups = troubles
    .flatMap((trouble, place) => apart(trouble, ofPlace.get(place) ?? []))
    .map((group) => ({ ...group, since: sinceOf(group) }))
    .sort((one, other) => other.count - one.count || (other.since ?? 0) - (one.since ?? 0))
  const shown = groups.slice(0, MOST_CAUSES)
  const single = shown.flatMap(({ trouble, monitors: [first], count }) =>
    count === 1 && first && HAS_OWN_REASON.has(trouble.state) ? [first.id] : [],
  )
  const reasons = await reasonsOf(db, tenant, single)
  return {
    attention: shown.map((group) => toCause(group, reasons)),
    more: Math.max(0, all - troubles.length) + groups.length - shown.length,
  }
}

const isFailing = (state: MonitorState) => state !== 'VALID' && state !== 'UNSET'
/** Of these the reason of the check says more than the state: the cause, or the name behind a CNAME that is missing. */
const HAS_OWN_REASON: ReadonlySet<MonitorState> = new Set(['INVALID', 'BAD_SETUP', 'NOT_FOUND', 'NO_DATA'])

/** Troubles that began lately and are too small to be among the largest. */
async function newest(
  db: Database,
  organizationId: string,
  largest: readonly Trouble[],
  recent: readonly Event[],
): Promise<Trouble[]> {
  if (largest.length < MOST_CAUSES) return []
  const keyOf = ({ state, domain }: Pick<Trouble, 'state' | 'domain'>) => `${state} ${domain}`
  const known = new Set(largest.map(keyOf))
  const named = new Map(
    recent
      .map(({ new_state: state, domain: { domain } }) => ({ state, domain }))
      .filter((each) => isFailing(each.state) && !known.has(keyOf(each)))
      .map((each) => [keyOf(each), each]),
  )
  return await troublesOf(db, { organizationId }, [...named.values()].slice(0, MOST_NEW))
}

function apart(trouble: Trouble, monitors: FailingMonitor[]): Group[] {
  if (trouble.count > monitors.length) return [{ trouble, monitors, count: trouble.count }]
  const byAnswer = new Map<string, FailingMonitor[]>()
  for (const monitor of monitors) {
    const answer = trouble.state === 'MISMATCH' ? (monitor.current_values ?? '') : ''
    byAnswer.set(answer, [...(byAnswer.get(answer) ?? []), monitor])
  }
  return [...byAnswer.values()].map((some) => ({ trouble, monitors: some, count: some.length }))
}

function sinceOf({ monitors }: Group): number | null {
  const known = monitors.flatMap(({ since }) => (since === null ? [] : [since]))
  return known.length === 0 ? null : Math.min(...known)
}

function toCause(group: Group & { since: number | null }, reasons: ReadonlyMap<string, CauseReason>): Cause {
  const { trouble, monitors, count, since } = group
  const [first] = monitors
  const isWhole = count === monitors.length
  const current = isWhole ? same(monitors.map(({ current_values }) => current_values)) : undefined
  const expected = isWhole ? same(monitors.map(({ expected_values }) => expected_values)) : undefined
  const reason = first && reasons.get(first.id)
  return {
    reason: reasonOf({
      ...trouble,
      count,
      owner: first?.owner || '.',
      recordType: first?.record_type ?? '',
      ...(current ? { current } : {}),
      ...(expected ? { expected } : {}),
      ...(reason === undefined ? {} : { reason }),
    }),
    state: trouble.state,
    domain: trouble.domain,
    since: toIsoOrNull(since),
    monitors: monitors
      .slice(0, SHOWN)
      .map(({ id, owner, record_type }) => ({ id, name: owner || '.', record_type: record_type as MonitorRecordType })),
    count,
  }
}

/** The list that all of them have. */
function same(texts: readonly (string | null)[]): string[] | undefined {
  const [first] = texts
  return first && texts.every((text) => text === first) ? JSON.parse(first) : undefined
}

/** `owner` and `recordType` of the one where `count` is 1; the lists are there where all of them have the same. */
export type Fault = {
  state: MonitorState
  domain: string
  count: number
  owner: string
  recordType: string
  current?: readonly string[]
  expected?: readonly string[]
  /** The reason of the check, for a single one. */
  reason?: CauseReason
}

/** What is wrong, as a code with parameters and in one sentence. Pure. */
export function reasonOf(fault: Fault): CauseReason {
  const { state, count, owner, recordType, domain, current = [], expected = [] } = fault
  const one = count === 1
  const params = { name: owner, record_type: recordType, count, domain, observed: current, expected }
  switch (state) {
    case 'MISMATCH':
      if (!isBrief(current)) return causeReason(one ? 'answers_differ' : 'records_differ', params)
      if (!isBrief(expected)) return causeReason(one ? 'answers_unexpected' : 'records_answer_unexpected', params)
      return causeReason(one ? 'answers_instead' : 'records_answer_instead', params)
    case 'NOT_FOUND':
      return fault.reason ?? causeReason(one ? 'name_not_found' : 'names_not_found', params)
    case 'NO_DATA':
      return fault.reason ?? causeReason(one ? 'record_missing' : 'records_missing', params)
    case 'TIMEOUT':
      return causeReason(one ? 'record_times_out' : 'records_time_out', params)
    case 'INVALID':
      return fault.reason ?? causeReason(one ? 'lookup_fails' : 'lookups_fail', params)
    case 'BAD_SETUP':
      return fault.reason ?? causeReason(one ? 'name_misconfigured' : 'names_misconfigured', params)
    case 'UNSET':
    case 'VALID':
      throw new Error(`${state} is no failure.`)
  }
}

const MOST_VALUES = 3
const MOST_CHARACTERS = 60

/** Where the texts are too long for a sentence, what differs is on the monitor's own page. */
function isBrief(values: readonly string[]): boolean {
  if (values.length === 0 || values.length > MOST_VALUES) return false
  return values.every((value) => value.length <= MOST_CHARACTERS && value.trim() !== '')
}
