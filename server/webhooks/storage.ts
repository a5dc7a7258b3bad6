import { sql } from 'kysely'
import { isOneOf } from '../database/bulk.ts'
import { type Database, engineOf } from '../database/database.ts'

/** Bytes counted for a request in addition to its body: its row, indexes and queue entry. */
export const REQUEST_BYTES = 1_024

/** Adds to the stored bytes of organizations. Call it last in a transaction, so that all lock the rows in one order. */
export async function countStored(
  db: Database,
  differences: Iterable<readonly [organizationId: string, octets: number]>,
): Promise<void> {
  const sums = new Map<string, number>()
  for (const [id, octets] of differences) sums.set(id, (sums.get(id) ?? 0) + octets)
  const rows = [...sums].filter(([, octets]) => octets !== 0).toSorted(([a], [b]) => (a < b ? -1 : 1))
  for (const [organization_id, octets] of rows) {
    await sql`insert into webhook_storage (organization_id, octets) values (${organization_id}, ${Math.max(0, octets)})
      on conflict (organization_id) do update set octets =
        case when webhook_storage.octets + ${octets} < 0 then 0 else webhook_storage.octets + ${octets} end`.execute(db)
  }
}

/** Deletes requests with their attempts, and the event bodies that no other request uses. */
export async function deleteRequests(db: Database, ids: readonly string[]): Promise<void> {
  const octets = (column: string) =>
    sql.raw(
      engineOf(db) === 'sqlite'
        ? `coalesce(length(cast(${column} as blob)), 0)`
        : `coalesce(octet_length(${column}), 0)`,
    )
  const { rows } = await sql<{ organization_id: string; event: string | null; octets: number }>`
    select organization_id, case when event_offset is null then null else event_id end as event,
      ${REQUEST_BYTES} + ${octets('body')} + ${octets('response_body')} + coalesce((select sum(${octets('a.response_body')})
        from webhook_attempts a where a.request_id = webhook_requests.id), 0) as octets
    from webhook_requests where ${isOneOf(db, 'id', ids)}`.execute(db)
  await db
    .deleteFrom('webhook_attempts')
    .where(isOneOf(db, 'request_id', ids))
    .execute()
  await db
    .deleteFrom('batched_events')
    .where(isOneOf(db, 'request_id', ids))
    .execute()
  await db
    .deleteFrom('webhook_requests')
    .where(isOneOf(db, 'id', ids))
    .execute()
  const events = Map.groupBy(
    rows.filter(({ event }) => event !== null),
    ({ event }) => event!,
  )
  const released = await releaseBodies(db, new Map([...events].map(([id, requests]) => [id, requests.length])))
  const stored = rows.map(({ organization_id, octets }) => [organization_id, -Number(octets)] as const)
  await countStored(db, [...stored, ...released])
}

/** Subtracts from the use counts of event bodies, and deletes unused ones. Returns the freed bytes as negative numbers. */
export async function releaseBodies(
  db: Database,
  uses: ReadonlyMap<string, number>,
): Promise<(readonly [organizationId: string, octets: number])[]> {
  if (uses.size === 0) return []
  for (const [id, count] of [...uses].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    await sql`update event_bodies set requests = requests - ${count} where event_id = ${id}`.execute(db)
  }
  const gone = await db
    .deleteFrom('event_bodies')
    .where(isOneOf(db, 'event_id', [...uses.keys()]))
    .where('requests', '<=', 0)
    .returning(['organization_id', sql<number>`length(octets)`.as('octets')])
    .execute()
  return gone.map(({ organization_id, octets }) => [organization_id, -Number(octets)] as const)
}
