import { sql } from 'kysely'
import { type Database, inTransaction } from '../database/database.ts'
import { advisoryLock, tryAdvisoryLock } from '../database/dialect.ts'
import type { Keyring } from '../keyring.ts'

export const RETENTION_MS = 24 * 60 * 60 * 1_000
/** A longer body is not stored. The response is then built again from the database. */
export const MAX_BODY_BYTES = 256 * 1_024
/** The approximate size of a row without its body. */
const ROW_BYTES = 512
const PRUNE_BATCH_SIZE = 200

/**
 * Identifies a request. `owner`: the organization, so that a client can repeat a request with another API key; for requests
 * of users and on routes that only admins may use, the actor. `name`: the hash of the `Idempotency-Key`. `fingerprint`: of path, body and
 * the caller's role.
 */
export type RequestKey = {
  organizationId: string
  owner: string
  name: string
  fingerprint: string
}
export type StoredResponse = { status: number; headers: Record<string, string>; body: string | null }

export type StoredRequest =
  | { kind: 'none' }
  | { kind: 'other_request' }
  | { kind: 'responded'; response: StoredResponse }
  /** It is done. Its response is built again from the result. */
  | { kind: 'completed'; result: unknown }
  /** Some of its steps are done. */
  | { kind: 'started'; result: unknown }

export async function findStoredRequest(
  db: Database,
  keyring: Keyring,
  request: RequestKey,
  now: number,
): Promise<StoredRequest> {
  const row = await whereRequest(db.selectFrom('idempotent_requests'), request).selectAll().executeTakeFirst()
  if (!row || row.created_at <= now - RETENTION_MS) return { kind: 'none' }
  if (row.fingerprint !== request.fingerprint) return { kind: 'other_request' }
  const { status, headers, body } = row
  const identity = { organizationId: request.organizationId, keyId: row.key_id, name: request.name }
  const result = row.result && JSON.parse(keyring.decrypt(row.result, resultContext(identity)))
  if (status === null && !row.result) return { kind: 'none' }
  if (status === null) return { kind: 'started', result }
  if (headers === null) return { kind: 'completed', result }
  const text = body === null ? null : keyring.decrypt(body, responseContext(identity))
  return { kind: 'responded', response: { status, headers: JSON.parse(headers), body: text } }
}

/** Locks the request until the transaction ends; false if another process has it and `canWait` is false. SQLite has one writer at a time. */
export async function lockRequest(db: Database, request: RequestKey, canWait: boolean): Promise<boolean> {
  const key = Buffer.from(request.name, 'hex').readBigInt64BE()
  if (!canWait) return await tryAdvisoryLock(db, key)
  await advisoryLock(db, key)
  return true
}

/** Without a response the request is not done yet. `maxBytes`: for the whole organization. */
type RequestState = { result: unknown; response?: StoredResponse; maxBytes: number }

/** Stores the response, in the transaction of the change. */
export async function storeRequest(
  db: Database,
  keyring: Keyring,
  request: RequestKey,
  { result, response, maxBytes }: RequestState,
  now: number,
): Promise<void> {
  await deleteRequest(db, request)
  const identity = { ...request, keyId: request.owner }
  const encryptedResult = result === undefined ? null : keyring.encrypt(JSON.stringify(result), resultContext(identity))
  const body = response?.body == null ? null : keyring.encrypt(response.body, responseContext(identity))
  const bytesWithoutBody = ROW_BYTES + (encryptedResult?.length ?? 0)
  const storesBody =
    body === null ||
    (body.length <= MAX_BODY_BYTES &&
      bytesWithoutBody + body.length <= (await remainingBytes(db, request, maxBytes / 2)))
  // A refusal has no result. If its body is not stored, a repeated request runs again.
  if (response && !storesBody && !encryptedResult) return
  const bytes = storesBody ? ROW_BYTES + (body?.length ?? 0) : bytesWithoutBody
  await db
    .insertInto('idempotent_requests')
    .values({
      organization_id: request.organizationId,
      key_id: request.owner,
      name: request.name,
      fingerprint: request.fingerprint,
      created_at: now,
      status: response?.status ?? null,
      headers: response && storesBody ? JSON.stringify(response.headers) : null,
      body: storesBody ? body : null,
      result: response && storesBody ? null : encryptedResult,
      octets: bytes,
    })
    .execute()
  await addUsage(db, request.organizationId, bytes)
}

/** How many of `maxBytes` the organization has left. */
export async function remainingBytes(
  db: Database,
  { organizationId }: Pick<RequestKey, 'organizationId'>,
  maxBytes: number,
): Promise<number> {
  const usage = await db
    .selectFrom('idempotency_usage')
    .select('octets')
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return maxBytes - (usage?.octets ?? 0)
}

/** Deletes a batch of expired rows. Returns whether there may be more. */
export async function pruneIdempotentRequests(db: Database, now: number): Promise<boolean> {
  return await inTransaction(db, async (transaction) => {
    const { rows } = await sql<{ organization_id: string; octets: number }>`
      delete from idempotent_requests where (organization_id, key_id, name) in (
        select organization_id, key_id, name from idempotent_requests
        where created_at <= ${now - RETENTION_MS} order by created_at limit ${PRUNE_BATCH_SIZE}
      ) returning organization_id, octets`.execute(transaction)
    const byOrganization = Map.groupBy(rows, ({ organization_id }) => organization_id)
    // Every process uses the same order, so that two of them cannot deadlock.
    for (const [organizationId, deleted] of [...byOrganization].sort()) {
      await addUsage(transaction, organizationId, -deleted.reduce((sum, { octets }) => sum + octets, 0))
    }
    return rows.length === PRUNE_BATCH_SIZE
  })
}

/** Deletes the steps or the expired response of an earlier request with this key. */
async function deleteRequest(db: Database, request: RequestKey): Promise<void> {
  const deleted = await whereRequest(db.deleteFrom('idempotent_requests'), request).returning('octets').execute()
  const bytes = deleted.reduce((sum, { octets }) => sum + octets, 0)
  if (bytes > 0) await addUsage(db, request.organizationId, -bytes)
}

/** The last statement of a transaction, because other requests of the organization wait for this row. */
async function addUsage(db: Database, organizationId: string, bytes: number): Promise<void> {
  await db
    .insertInto('idempotency_usage')
    .values({ organization_id: organizationId, octets: Math.max(bytes, 0) })
    .onConflict((conflict) =>
      conflict.column('organization_id').doUpdateSet({ octets: sql`idempotency_usage.octets + ${bytes}` }),
    )
    .execute()
}

type RequestQuery<T> = { where(column: 'organization_id' | 'key_id' | 'name', operator: '=', value: string): T }

function whereRequest<T extends RequestQuery<T>>(query: T, { organizationId, owner, name }: RequestKey): T {
  return query.where('organization_id', '=', organizationId).where('key_id', '=', owner).where('name', '=', name)
}

/** What the encrypted columns are bound to. */
type RowIdentity = { organizationId: string; keyId: string; name: string }
export const responseContext = ({ organizationId, keyId, name }: RowIdentity) =>
  `answer ${organizationId} ${keyId} ${name}`
export const resultContext = ({ organizationId, keyId, name }: RowIdentity) => `made ${organizationId} ${keyId} ${name}`
