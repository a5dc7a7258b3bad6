import { type RawBuilder, sql } from 'kysely'
import { type Database, engineOf, skipLocked } from '../database/database.ts'
import type { Occasion } from './transition.ts'

/** A request that may be claimed, and why. */
export type Found = { webhook_id: string; request_id: string; occasion: Occasion }

type Row = { webhook_id: string; request_id: string; due_at: number; claimed_by: number | null; by_hand: 0 | 1 }
const COLUMNS = sql.raw('webhook_id, request_id, due_at, claimed_by, by_hand')

// What follows is read in the order of an index and stops at its limit. Conditions beside the index's own are looked at
// here: a planner that takes them for rare would read and sort the whole backlog instead.

/** So many rows of a queue may be under way among those that are read for more. */
const SLACK = 32

/** What is due, longest overdue first, up to `limit` of each webhook. `isByHand`: only what persons asked for. */
export async function findDue(
  db: Database,
  webhookIds: readonly string[],
  { limit, now, isByHand = false }: { limit: number; now: number; isByHand?: boolean },
): Promise<Found[]> {
  const first = (columns: RawBuilder<unknown>) => sql`select ${columns} from due_requests
    where webhook_id = queues.id and due_at <= ${now} ${sql.raw(isByHand ? 'and by_hand = 1' : '')}
    order by due_at, request_id limit ${limit} ${skipLocked(db)}`
  // SQLite has no LATERAL, but reads a correlated IN through the primary key; PostgreSQL would walk the queue.
  const statement =
    engineOf(db) === 'postgres'
      ? sql<Row>`select due.* from unnest(${webhookIds}::text[]) as queues (id) cross join lateral (${first(COLUMNS)}) as due`
      : sql<Row>`select ${COLUMNS} from (select value as id from json_each(${JSON.stringify(webhookIds)})) as queues
          cross join due_requests on webhook_id = queues.id and request_id in (${first(sql`request_id`)})`
  return (await statement.execute(db)).rows.map(foundBySchedule)
}

/** What a paused webhook's receiver is tried with. */
export async function findOldest(db: Database, webhookId: string, now: number): Promise<Found[]> {
  const rows = await inOrderOfIds(db, webhookId, { after: '', limit: SLACK })
  return rows
    .filter((row) => isFree(row, now))
    .slice(0, 1)
    .map((row) => ({ ...foundBySchedule(row), occasion: 'probe' }))
}

/** What was kept while a webhook was paused, due or not, up to `limit`, and after which id there may be more. */
export async function findKept(
  db: Database,
  webhookId: string,
  { after, to, limit, now }: { after: string; to: string; limit: number; now: number },
): Promise<{ found: Found[]; after: string | null }> {
  const rows = await inOrderOfIds(db, webhookId, { after, limit: limit + SLACK })
  const kept = rows.filter(({ request_id }) => request_id <= to)
  const free = kept.filter((row) => isFree(row, now)).slice(0, limit)
  const isAll = free.length < limit && kept.length < limit + SLACK
  const last = free.length < limit ? kept.at(-1) : free.at(-1)
  return { found: free.map(foundBySchedule), after: isAll ? null : last!.request_id }
}

const isFree = ({ claimed_by, due_at }: Row, now: number) => claimed_by === null || due_at <= now

const foundBySchedule = ({ webhook_id, request_id, by_hand }: Row): Found => ({
  webhook_id,
  request_id,
  occasion: by_hand === 1 ? 'hand' : 'schedule',
})

async function inOrderOfIds(
  db: Database,
  webhookId: string,
  { after, limit }: { after: string; limit: number },
): Promise<Row[]> {
  const { rows } = await sql<Row>`select ${COLUMNS} from due_requests
    where webhook_id = ${webhookId} and request_id > ${after} order by request_id limit ${limit} ${skipLocked(db)}`.execute(
    db,
  )
  return rows
}
