import type { LiveChange } from '#contract/dashboard.ts'

type List = LiveChange['lists'][number]

/** What an organization's open pages show, as far as it tells whether something changed. Instants in UTC epoch milliseconds. */
export type Snapshot = {
  /** The newest events, id → when. */
  events: ReadonlyMap<string, number>
  /** The webhooks that sent last, id → when. */
  sent: ReadonlyMap<string, number>
  /** The monitors that were checked last, id → when. */
  checked: ReadonlyMap<string, number>
  /** How often people changed each list. */
  people: ReadonlyMap<string, number>
}

/** Events and checked monitors that a snapshot holds. */
export const NEWEST = 100

export type Difference = {
  lists: List[]
  /** Ids of events that were not there. */
  events: string[]
  /** Ids of monitors. */
  checked: string[]
}

/** What changed from one snapshot to the next. Pure. */
export function differenceOf(before: Snapshot, now: Snapshot): Difference {
  const events = newerThan(before.events, now.events)
  const lists = new Set<List>()
  if (events.length > 0) for (const list of ['events', 'monitors', 'requests'] as const) lists.add(list)
  if (changed(before.sent, now.sent).length > 0) for (const list of ['webhooks', 'requests'] as const) lists.add(list)
  for (const list of changed(before.people, now.people)) lists.add(list as List)
  return { lists: [...lists], events, checked: changed(before.checked, now.checked) }
}

const changed = (before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>) =>
  [...now].flatMap(([id, at]) => (before.get(id) === at ? [] : [id]))

/** Where events were removed, older ones take their places among the newest: these are not new. */
function newerThan(before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): string[] {
  const from = before.size < NEWEST ? Number.NEGATIVE_INFINITY : Math.min(...before.values())
  return [...now].flatMap(([id, at]) => (before.has(id) || at < from ? [] : [id]))
}
