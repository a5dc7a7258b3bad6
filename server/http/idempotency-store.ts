import { sql } from 'kysely'
import { type Database, engineOf, inTransaction } from '../database/database.ts'
import type { Seal } from '../seal.ts'

/** How long an answer is kept. */
export const KEPT_MS = 24 * 60 * 60 * 1_000
/** Octets of a body that is kept; a longer one is made again from the database. */
export const MOST_KEPT = 256 * 1_024
/** What a row takes in addition to its body, roughly. */
const ROW_OCTETS = 512
const PRUNE_BATCH = 200

/**
 * Which request is meant. An `Idempotency-Key` belongs to the organization, whichever API key sends it, so that it outlives
 * a key; of people, and where only admins may ask, to who asks. `fingerprint`: of its path and body, and of the caller's role.
 */
export type RequestName = { organizationId: string; owner: string; name: string; fingerprint: string; before?: Before }
/** How the version before named requests: by the API key. Its answers are given for the 24 hours that they are kept. */
type Before = { keyId: string; fingerprint: string }
export type KeptAnswer = { status: number; headers: Record<string, string>; body: string | null }

export type Found =
  | { kind: 'none' }
  | { kind: 'otherRequest' }
  /** The version before still runs it. */
  | { kind: 'running' }
  | { kind: 'answered'; answer: KeptAnswer }
  /** It was carried out; its body is to be made again from this. */
  | { kind: 'made'; made: unknown }
  /** Some of its steps were carried out. */
  | { kind: 'begun'; made: unknown }

/** The result of the request. */
export async function findAnswer(db: Database, seal: Seal, request: RequestName, now: number): Promise<Found> {
  const rows = await whereNamed(db.selectFrom('idempotent_requests'), request).selectAll().execute()
  const row = rows.find(({ created_at }) => created_at > now - KEPT_MS)
  if (!row) return { kind: 'none' }
  const { before } = request
  const fingerprint = row.key_id === before?.keyId ? before.fingerprint : request.fingerprint
  if (row.fingerprint !== fingerprint) return { kind: 'otherRequest' }
  const { status, headers, body } = row
  const sealed = { organizationId: request.organizationId, keyId: row.key_id, name: request.name }
  const made = row.result && JSON.parse(seal.open(row.result, madeContext(sealed)))
  if (status === null && !row.result) return { kind: 'none' }
  if (status === null) return { kind: 'begun', made }
  if (headers === null) return { kind: 'made', made }
  const text = body === null ? null : seal.open(body, answerContext(sealed))
  return { kind: 'answered', answer: { status, headers: JSON.parse(headers), body: text } }
}

/** Whether nobody else carries the request out, until the transaction ends. SQLite has one writer at a time. */
export async function lockRequest(db: Database, request: RequestName, canWait: boolean): Promise<boolean> {
  if (engineOf(db) === 'sqlite') return true
  const key = Buffer.from(request.name, 'hex').readBigInt64BE().toString()
  if (canWait) await sql`select pg_advisory_xact_lock(${key}::bigint)`.execute(db)
  if (canWait) return true
  const { rows } = await sql<{ locked: boolean }>`select pg_try_advisory_xact_lock(${key}::bigint) as locked`.execute(
    db,
  )
  return rows[0]!.locked
}

/** What to keep of a request. Without an answer it is not done. */
export type Keeping = { made: unknown; answer?: KeptAnswer; most: number }

/** Keeps the answer, in the transaction of what the request changed. `most`: see `octetsLeft`. */
export async function keepAnswer(
  db: Database,
  seal: Seal,
  request: RequestName,
  { made, answer, most }: Keeping,
  now: number,
): Promise<void> {
  await forget(db, request)
  const sealed = { ...request, keyId: request.owner }
  const sealedMade = made === undefined ? null : seal.close(JSON.stringify(made), madeContext(sealed))
  const body = answer?.body == null ? null : seal.close(answer.body, answerContext(sealed))
  const least = ROW_OCTETS + (sealedMade?.length ?? 0)
  const isWhole =
    body === null || (body.length <= MOST_KEPT && least + body.length <= (await octetsLeft(db, request, most / 2)))
  // A refusal made nothing: what is not kept is judged again.
  if (answer && !isWhole && !sealedMade) return
  const octets = isWhole ? ROW_OCTETS + (body?.length ?? 0) : least
  await db
    .insertInto('idempotent_requests')
    .values({
      organization_id: request.organizationId,
      key_id: request.owner,
      name: request.name,
      fingerprint: request.fingerprint,
      created_at: now,
      status: answer?.status ?? null,
      headers: answer && isWhole ? JSON.stringify(answer.headers) : null,
      body: isWhole ? body : null,
      result: answer && isWhole ? null : sealedMade,
      octets,
    })
    .execute()
  await countOctets(db, request.organizationId, octets)
}

/** How many octets may still be kept for the organization, of `most`. */
export async function octetsLeft(
  db: Database,
  { organizationId }: Pick<RequestName, 'organizationId'>,
  most: number,
): Promise<number> {
  const usage = await db
    .selectFrom('idempotency_usage')
    .select('octets')
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return most - (usage?.octets ?? 0)
}

/** Removes a batch of what was kept long enough. Returns whether there may be more. */
export async function pruneIdempotentRequests(db: Database, now: number): Promise<boolean> {
  return await inTransaction(db, async (transaction) => {
    const { rows } = await sql<{ organization_id: string; octets: number }>`
      delete from idempotent_requests where (organization_id, key_id, name) in (
        select organization_id, key_id, name from idempotent_requests
        where created_at <= ${now - KEPT_MS} order by created_at limit ${PRUNE_BATCH}
      ) returning organization_id, octets`.execute(transaction)
    const freed = Map.groupBy(rows, ({ organization_id }) => organization_id)
    // In one order, so that two processes do not wait for each other.
    for (const [organizationId, its] of [...freed].sort()) {
      await countOctets(transaction, organizationId, -its.reduce((sum, { octets }) => sum + octets, 0))
    }
    return rows.length === PRUNE_BATCH
  })
}

/** What is left of an earlier request of this name: its steps, or an answer that was kept long enough. */
async function forget(db: Database, request: RequestName): Promise<void> {
  const gone = await whereNamed(db.deleteFrom('idempotent_requests'), request).returning('octets').execute()
  const octets = gone.reduce((sum, each) => sum + each.octets, 0)
  if (octets > 0) await countOctets(db, request.organizationId, -octets)
}

/** Comes last in a transaction, because others of the organization wait for it. */
async function countOctets(db: Database, organizationId: string, octets: number): Promise<void> {
  await db
    .insertInto('idempotency_usage')
    .values({ organization_id: organizationId, octets: Math.max(octets, 0) })
    .onConflict((conflict) =>
      conflict.column('organization_id').doUpdateSet({ octets: sql`idempotency_usage.octets + ${octets}` }),
    )
    .execute()
}

type Named<T> = {
  where(column: 'organization_id' | 'name', operator: '=', value: string): T
  where(column: 'key_id', operator: 'in', values: string[]): T
}

/** Narrows a statement to the one request. */
function whereNamed<T extends Named<T>>(query: T, { organizationId, owner, name, before }: RequestName): T {
  const owners = before ? [owner, before.keyId] : [owner]
  return query.where('organization_id', '=', organizationId).where('key_id', 'in', owners).where('name', '=', name)
}

/** What the sealed columns are bound to. */
type Sealed = { organizationId: string; keyId: string; name: string }
export const answerContext = ({ organizationId, keyId, name }: Sealed) => `answer ${organizationId} ${keyId} ${name}`
export const madeContext = ({ organizationId, keyId, name }: Sealed) => `made ${organizationId} ${keyId} ${name}`
