import { secondFactorContext } from '../accounts/second-factor.ts'
import { channelContext } from '../alerts/channel.ts'
import type { Database } from '../database/database.ts'
import { responseContext, resultContext } from '../http/idempotency-store.ts'
import { pageTokenContext } from '../monitors/setup-pages.ts'
import type { Seal } from '../seal.ts'
import { headersContext, secretContext } from '../webhooks/webhook.ts'

const BATCH = 200

/**
 * Re-encrypts, in batches, every value that another key than the current one encrypted, and returns how many. A value that changes
 * meanwhile is skipped, because anyone who writes it uses the current key. Can be interrupted and run again.
 */
export async function reencrypt(
  db: Database,
  seal: Seal,
  onBatch: () => Promise<void> = async () => {},
): Promise<number> {
  let count = 0
  for (const pass of [webhooks, channels, setupPages, idempotentRequests, secondFactors]) {
    for (let from: Batch['next'] = []; from !== undefined; ) {
      const batch: Batch = await pass(db, seal, from)
      count += batch.count
      from = batch.next
      await onBatch()
    }
  }
  return count
}

/** `next`: the key of the last row; undefined after the last batch. */
type Batch = { count: number; next: string[] | undefined }

async function webhooks(db: Database, seal: Seal, [after = '']: string[]): Promise<Batch> {
  const rows = await db
    .selectFrom('webhooks')
    .select(['id', 'secret', 'previous_secret', 'headers'])
    .where('id', '>', after)
    .orderBy('id')
    .limit(BATCH)
    .execute()
  let count = 0
  for (const { id, secret, previous_secret, headers } of rows) {
    const contexts = { secret: secretContext(id), previous_secret: secretContext(id), headers: headersContext(id) }
    const values = { secret, previous_secret, headers }
    for (const column of ['secret', 'previous_secret', 'headers'] as const) {
      const before = values[column]
      if (before === null || seal.isCurrent(before)) continue
      const { numUpdatedRows } = await db
        .updateTable('webhooks')
        .set({ [column]: resealed(seal, before, contexts[column]) })
        .where('id', '=', id)
        .where(column, '=', before)
        .executeTakeFirst()
      count += Number(numUpdatedRows)
    }
  }
  return { count, next: rows.length === BATCH ? [rows.at(-1)!.id] : undefined }
}

async function channels(db: Database, seal: Seal, [organizationId = '', after = '']: string[]): Promise<Batch> {
  const rows = await db
    .selectFrom('channels')
    .select(['organization_id', 'id', 'secrets'])
    .where(({ eb, refTuple, tuple }) => eb(refTuple('organization_id', 'id'), '>', tuple(organizationId, after)))
    .orderBy('organization_id')
    .orderBy('id')
    .limit(BATCH)
    .execute()
  let count = 0
  for (const { organization_id, id, secrets } of rows) {
    if (secrets === null || seal.isCurrent(secrets)) continue
    const { numUpdatedRows } = await db
      .updateTable('channels')
      .set({ secrets: resealed(seal, secrets, channelContext(id)) })
      .where('organization_id', '=', organization_id)
      .where('id', '=', id)
      .where('secrets', '=', secrets)
      .executeTakeFirst()
    count += Number(numUpdatedRows)
  }
  const last = rows.at(-1)
  return { count, next: rows.length === BATCH ? [last!.organization_id, last!.id] : undefined }
}

async function setupPages(db: Database, seal: Seal, [organizationId = '', after = '']: string[]): Promise<Batch> {
  const rows = await db
    .selectFrom('setup_pages')
    .select(['organization_id', 'id', 'token'])
    .where(({ eb, refTuple, tuple }) => eb(refTuple('organization_id', 'id'), '>', tuple(organizationId, after)))
    .orderBy('organization_id')
    .orderBy('id')
    .limit(BATCH)
    .execute()
  let count = 0
  for (const { organization_id, id, token } of rows) {
    if (seal.isCurrent(token)) continue
    const { numUpdatedRows } = await db
      .updateTable('setup_pages')
      .set({ token: resealed(seal, token, pageTokenContext(id)) })
      .where('organization_id', '=', organization_id)
      .where('id', '=', id)
      .where('token', '=', token)
      .executeTakeFirst()
    count += Number(numUpdatedRows)
  }
  const last = rows.at(-1)
  return { count, next: rows.length === BATCH ? [last!.organization_id, last!.id] : undefined }
}

async function idempotentRequests(db: Database, seal: Seal, after: string[]): Promise<Batch> {
  const [organizationId = '', keyId = '', name = ''] = after
  const rows = await db
    .selectFrom('idempotent_requests')
    .select(['organization_id', 'key_id', 'name', 'body', 'result'])
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('organization_id', 'key_id', 'name'), '>', tuple(organizationId, keyId, name)),
    )
    .orderBy('organization_id')
    .orderBy('key_id')
    .orderBy('name')
    .limit(BATCH)
    .execute()
  let count = 0
  for (const { organization_id, key_id, name: its, body, result } of rows) {
    const request = { organizationId: organization_id, keyId: key_id, name: its }
    const values = { body, result }
    const contexts = { body: responseContext(request), result: resultContext(request) }
    for (const column of ['body', 'result'] as const) {
      const before = values[column]
      if (before === null || seal.isCurrent(before)) continue
      const { numUpdatedRows } = await db
        .updateTable('idempotent_requests')
        .set({ [column]: resealed(seal, before, contexts[column]) })
        .where('organization_id', '=', organization_id)
        .where('key_id', '=', key_id)
        .where('name', '=', its)
        .where(column, '=', before)
        .executeTakeFirst()
      count += Number(numUpdatedRows)
    }
  }
  const last = rows.at(-1)
  return { count, next: rows.length === BATCH ? [last!.organization_id, last!.key_id, last!.name] : undefined }
}

async function secondFactors(db: Database, seal: Seal, [after = '']: string[]): Promise<Batch> {
  const rows = await db
    .selectFrom('second_factors')
    .select(['person_id', 'sealed'])
    .where('person_id', '>', after)
    .orderBy('person_id')
    .limit(BATCH)
    .execute()
  let count = 0
  for (const { person_id, sealed } of rows) {
    if (seal.isCurrent(sealed)) continue
    const { numUpdatedRows } = await db
      .updateTable('second_factors')
      .set({ sealed: resealed(seal, sealed, secondFactorContext(person_id)) })
      .where('person_id', '=', person_id)
      .where('sealed', '=', sealed)
      .executeTakeFirst()
    count += Number(numUpdatedRows)
  }
  return { count, next: rows.length === BATCH ? [rows.at(-1)!.person_id] : undefined }
}

const resealed = (seal: Seal, sealed: Uint8Array, context: string) => seal.close(seal.open(sealed, context), context)
