import { type RawBuilder, sql } from 'kysely'
import { type Database, engineOf, skipLocked } from '../database/database.ts'
import type { Occasion } from './transition.ts'

/** A request that may be claimed, and why. */
export type Found = { webhook_id: string; request_id: string; occasion: Occasion }

type Key = { webhook_id: string; request_id: string }

/** What persons asked for, up to `limit` of each webhook. */
export async function findByHand(db: Database, webhookIds: string[], limit: number, now: number): Promise<Found[]> {
  return found('hand', await firstOfEach(db, webhookIds, sql`by_hand = 1 and due_at <= ${now}`, limit))
}

/** What is due, longest overdue first, up to `limit` of each webhook. */
export async function findDue(db: Database, webhookIds: string[], limit: number, now: number): Promise<Found[]> {
  return found('schedule', await firstOfEach(db, webhookIds, sql`by_hand = 0 and due_at <= ${now}`, limit))
}

/** What a paused webhook's receiver is tried with. */
export async function findOldest(db: Database, webhookId: string, now: number): Promise<Found[]> {
  return found('probe', await inOrderOfIds(db, webhookId, sql`${isFree(now)}`, 1))
}

/** What was kept while a webhook was paused, due or not, up to `limit`. */
export async function findKept(
  db: Database,
  webhookId: string,
  { after, to, limit, now }: { after: string; to: string; limit: number; now: number },
): Promise<Found[]> {
  const isInDrain = sql`request_id > ${after} and request_id <= ${to} and ${isFree(now)}`
  return found('schedule', await inOrderOfIds(db, webhookId, isInDrain, limit))
}

const isFree = (now: number) => sql`by_hand = 0 and (claimed_by is null or due_at <= ${now})`

const found = (occasion: Occasion, keys: Key[]): Found[] => keys.map((key) => ({ ...key, occasion }))

async function inOrderOfIds(
  db: Database,
  webhookId: string,
  condition: RawBuilder<unknown>,
  limit: number,
): Promise<Key[]> {
  const { rows } = await sql<Key>`select webhook_id, request_id from due_requests
    where webhook_id = ${webhookId} and ${condition} order by request_id limit ${limit} ${skipLocked(db)}`.execute(db)
  return rows
}

/** Of each webhook its own first rows, read in the order of the index: a backlog behind them costs nothing. */
async function firstOfEach(
  db: Database,
  webhookIds: string[],
  condition: RawBuilder<unknown>,
  limit: number,
): Promise<Key[]> {
  if (webhookIds.length === 0) return []
  const first = (columns: RawBuilder<unknown>) => sql`select ${columns} from due_requests
    where webhook_id = lanes.id and ${condition} order by due_at, request_id limit ${limit} ${skipLocked(db)}`
  // SQLite has no LATERAL, but reads a correlated IN through the primary key; PostgreSQL would walk the lane.
  const statement =
    engineOf(db) === 'postgres'
      ? sql<Key>`select due.* from unnest(${webhookIds}::text[]) as lanes (id)
          cross join lateral (${first(sql`webhook_id, request_id`)}) as due`
      : sql<Key>`select webhook_id, request_id from (select value as id from json_each(${JSON.stringify(webhookIds)})) as lanes
          cross join due_requests on webhook_id = lanes.id and request_id in (${first(sql`request_id`)})`
  return (await statement.execute(db)).rows
}
