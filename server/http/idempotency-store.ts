import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import type { Seal } from '../seal.ts'

/** How long an answer is kept. */
export const KEPT_MS = 24 * 60 * 60 * 1_000
/** Longer than any request runs: then its process is taken to be dead. */
export const LEASE_MS = 60_000
/** Characters of an answer that is kept: far more than a thousand usual monitors have. */
const MOST_KEPT = 4 * 1024 * 1024
const PRUNE_BATCH = 200

/** Which request is meant: only the API key that sent it first sees its answer. */
export type RequestName = { organizationId: string; keyId: string; name: string }
export type KeptAnswer = { status: number; headers: Record<string, string>; body: string | null }

export type Reservation =
  | { kind: 'reserved'; leasedUntil: number }
  | { kind: 'running' }
  | { kind: 'otherRequest' }
  | { kind: 'answered'; answer: KeptAnswer }
  /** It was carried out, and its answer was too large to keep. */
  | { kind: 'answerNotKept' }

/** Reserves the name for this request, or says what became of the one that has it. */
export async function reserve(
  db: Database,
  seal: Seal,
  request: RequestName,
  fingerprint: string,
  now: number,
): Promise<Reservation> {
  const reserved: Reservation = { kind: 'reserved', leasedUntil: now + LEASE_MS }
  for (;;) {
    if (await insert(db, request, fingerprint, now)) return reserved
    const row = await select(db, request).selectAll().executeTakeFirst()
    if (!row) continue // given back just now
    const isOver = row.created_at <= now - KEPT_MS
    const isDead = row.status === null && row.leased_until <= now
    if (!isOver && row.fingerprint !== fingerprint) return { kind: 'otherRequest' }
    if (isOver || isDead) {
      if (await takeOver(db, request, fingerprint, row.leased_until, now)) return reserved
      continue
    }
    if (row.status === null) return { kind: 'running' }
    if (row.headers === null) return { kind: 'answerNotKept' }
    const body = row.body === null ? null : seal.open(row.body, contextOf(request))
    return { kind: 'answered', answer: { status: row.status, headers: JSON.parse(row.headers), body } }
  }
}

/** Keeps the answer for whoever asks again, while the reservation is still this request's own. */
export async function keepAnswer(
  db: Database,
  seal: Seal,
  request: RequestName,
  leasedUntil: number,
  answer: KeptAnswer,
): Promise<void> {
  const { status, headers, body } = answer
  const isKept = body === null || body.length <= MOST_KEPT
  await whereNamed(db.updateTable('idempotent_requests'), request)
    .set({
      status,
      headers: isKept ? JSON.stringify(headers) : null,
      body: isKept && body !== null ? seal.close(body, contextOf(request)) : null,
    })
    .where('leased_until', '=', leasedUntil)
    .where('status', 'is', null)
    .execute()
}

/** Gives the name back: what failed here may be sent again. */
export async function giveBack(db: Database, request: RequestName, leasedUntil: number): Promise<void> {
  await whereNamed(db.deleteFrom('idempotent_requests'), request)
    .where('leased_until', '=', leasedUntil)
    .where('status', 'is', null)
    .execute()
}

/** Removes a batch of what was kept long enough. Returns whether there may be more. */
export async function pruneIdempotentRequests(db: Database, now: number): Promise<boolean> {
  const { rows } = await sql`
    delete from idempotent_requests where (organization_id, key_id, name) in (
      select organization_id, key_id, name from idempotent_requests
      where created_at <= ${now - KEPT_MS} order by created_at limit ${PRUNE_BATCH}
    ) returning 1 as gone`.execute(db)
  return rows.length === PRUNE_BATCH
}

async function insert(db: Database, request: RequestName, fingerprint: string, now: number): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('idempotent_requests')
    .values({
      organization_id: request.organizationId,
      key_id: request.keyId,
      name: request.name,
      fingerprint,
      created_at: now,
      leased_until: now + LEASE_MS,
      status: null,
      headers: null,
      body: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

async function takeOver(
  db: Database,
  request: RequestName,
  fingerprint: string,
  leasedUntil: number,
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await whereNamed(db.updateTable('idempotent_requests'), request)
    .set({ fingerprint, created_at: now, leased_until: now + LEASE_MS, status: null, headers: null, body: null })
    .where('leased_until', '=', leasedUntil)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

type Named<T> = { where(column: 'organization_id' | 'key_id' | 'name', operator: '=', value: string): T }

/** Narrows a statement to the one request. */
function whereNamed<T extends Named<T>>(query: T, { organizationId, keyId, name }: RequestName): T {
  return query.where('organization_id', '=', organizationId).where('key_id', '=', keyId).where('name', '=', name)
}

const select = (db: Database, request: RequestName) => whereNamed(db.selectFrom('idempotent_requests'), request)

const contextOf = ({ organizationId, keyId, name }: RequestName) => `answer ${organizationId} ${keyId} ${name}`
