import { sql } from 'kysely'
import type { LiveChange } from '#contract/dashboard.ts'
import type { Database } from '../database/database.ts'
import { indexedTable } from '../database/index-hints.ts'

type List = LiveChange['lists'][number]

/** What is needed to find changes for an organization's open pages. Instants in UTC epoch milliseconds. */
export type Snapshot = {
  /** The newest events: id → instant. */
  events: ReadonlyMap<string, number>
  /** The webhooks with the latest requests: id → instant. */
  sent: ReadonlyMap<string, number>
  /** List → number of changes by users. */
  people: ReadonlyMap<string, number>
}

/** Events in a snapshot. */
export const MAX_ROWS = 100

export type Difference = {
  lists: List[]
  /** Ids of new events. */
  events: string[]
}

/** What changed from one snapshot to the next. Pure. */
export function differenceOf(before: Snapshot, now: Snapshot): Difference {
  const events = newerThan(before.events, now.events)
  const lists = new Set<List>()
  if (events.length > 0) for (const list of ['events', 'monitors', 'requests'] as const) lists.add(list)
  if (changed(before.sent, now.sent).length > 0) for (const list of ['webhooks', 'requests'] as const) lists.add(list)
  for (const list of changed(before.people, now.people)) lists.add(list as List)
  return { lists: [...lists], events }
}

const changed = (before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>) =>
  [...now].flatMap(([id, at]) => (before.get(id) === at ? [] : [id]))

/** After a deletion of events, older ones are among the newest. They are not new. */
function newerThan(before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): string[] {
  const from = before.size < MAX_ROWS ? Number.NEGATIVE_INFINITY : Math.min(...before.values())
  return [...now].flatMap(([id, at]) => (before.has(id) || at < from ? [] : [id]))
}

const WEBHOOKS = 20

type Row = { what: string; id: string; at: number }

/** One statement. Each part reads the end of an index. */
export async function readSnapshot(db: Database, organizationId: string): Promise<Snapshot> {
  const { rows } = await sql<Row>`
    select 'events' as what, id, occurred_at as at from (
      select id, occurred_at from ${indexedTable(db, 'events', 'events_by_organization')}
        where organization_id = ${organizationId} order by occurred_at desc, id desc limit ${MAX_ROWS}) as newest
    union all select 'sent', id, last_executed_at from (
      select id, last_executed_at from ${indexedTable(db, 'webhooks', 'webhooks_by_last_executed')}
        where organization_id = ${organizationId} and last_executed_at is not null
        order by last_executed_at desc, id desc limit ${WEBHOOKS}) as latest
    union all select 'people', list, number from organization_changes
      where organization_id = ${organizationId}`.execute(db)
  const of = (kind: string) => new Map(rows.flatMap(({ what, id, at }) => (what === kind ? [[id, at] as const] : [])))
  return { events: of('events'), sent: of('sent'), people: of('people') }
}

/** The monitors of these events. */
export async function monitorsOfEvents(
  db: Database,
  organizationId: string,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('events')
    .select('monitor_id')
    .distinct()
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .execute()
  return rows.map(({ monitor_id }) => monitor_id)
}

/** Records that a user changed a list, for the processes that poll it. */
export async function recordChange(db: Database, organizationId: string, list: string): Promise<void> {
  await sql`insert into organization_changes (organization_id, list, number) values (${organizationId}, ${list}, 1)
    on conflict (organization_id, list) do update set number = organization_changes.number + 1`.execute(db)
}
