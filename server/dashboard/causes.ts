import type { Cause } from '#contract/dashboard.ts'
import type { Event } from '#contract/events.ts'
import type { MonitorRecordType, MonitorState } from '#contract/monitors.ts'
import type { Database } from '../database/database.ts'
import { isoOrNull } from '../http/times.ts'
import { titleOf } from './cause-title.ts'
import {
  type FailingMonitor,
  failingMonitors,
  largestTroubles,
  reasonOf,
  type Trouble,
  troubleOf,
} from './overview-store.ts'

/** Causes that are shown, and monitors of each. */
const MOST = 20
const SHOWN = 5
/** Monitors of one domain in one state that are told apart by what they answer; more are one cause. */
const TOLD_APART = 50

type Group = { trouble: Trouble; monitors: FailingMonitor[]; count: number }

/**
 * What fails now, by cause: the monitors of one domain that fail alike and answer the same. The largest come first, and of
 * equal size the newest. `recent`: newest events, so that what has just begun is among them however much has failed for long.
 */
export async function attentionOf(
  db: Database,
  organizationId: string,
  recent: readonly Event[],
): Promise<{ attention: Cause[]; more: number }> {
  const { troubles, all } = await largestTroubles(db, organizationId, MOST)
  const groups: Group[] = []
  for (const trouble of [...troubles, ...(await newest(db, organizationId, troubles, recent))]) {
    groups.push(...apart(trouble, await failingMonitors(db, organizationId, trouble, TOLD_APART)))
  }
  const sorted = groups
    .map((group) => ({ ...group, since: sinceOf(group) }))
    .sort((one, other) => other.count - one.count || (other.since ?? 0) - (one.since ?? 0))
  const attention: Cause[] = []
  for (const group of sorted.slice(0, MOST)) attention.push(await toCause(db, organizationId, group))
  const looked = new Set(groups.map(({ trouble }) => trouble)).size
  return { attention, more: Math.max(0, all - looked) + sorted.length - attention.length }
}

const isFailing = (state: MonitorState) => state !== 'VALID' && state !== 'UNSET'

/** Troubles that began lately and are too small to be among the largest. */
async function newest(
  db: Database,
  organizationId: string,
  known: readonly Trouble[],
  recent: readonly Event[],
): Promise<Trouble[]> {
  const keyOf = ({ state, domain }: Pick<Trouble, 'state' | 'domain'>) => `${state} ${domain}`
  const seen = new Set(known.map(keyOf))
  const found: Trouble[] = []
  if (known.length < MOST) return found
  for (const { new_state: state, domain } of recent) {
    const given = { state, domain: domain.domain }
    if (!isFailing(state) || seen.has(keyOf(given))) continue
    seen.add(keyOf(given))
    const trouble = await troubleOf(db, organizationId, given)
    if (trouble.count > 0) found.push(trouble)
  }
  return found
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

async function toCause(db: Database, organizationId: string, group: Group & { since: number | null }): Promise<Cause> {
  const { trouble, monitors, count, since } = group
  const [first] = monitors
  const isWhole = count === monitors.length
  const current = isWhole ? same(monitors.map(({ current_values }) => current_values)) : undefined
  const expected = isWhole ? same(monitors.map(({ expected_values }) => expected_values)) : undefined
  const reason = count === 1 && first ? await reasonOf(db, organizationId, first.id) : undefined
  return {
    title: titleOf({
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
    since: isoOrNull(since),
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
