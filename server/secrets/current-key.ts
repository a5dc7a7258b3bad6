import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { createSeal, type Seal } from '../seal.ts'

/**
 * The database stores which key is the current one, so that all processes change it together. The stored value can be derived
 * only from that SECRET.
 */
const checkValue = (seal: Seal, keyId: string) => Buffer.from(seal.deriveKey('secret check', keyId), 'base64')

type Row = { value: Uint8Array; previous: string }
const findKeyId = (seal: Seal, { value }: Pick<Row, 'value'>) =>
  seal.keyIds().find((id) => checkValue(seal, id).equals(value))
const previousKeyIds = ({ previous }: Row) => previous.split(',').filter((id) => id !== '')

/**
 * Makes the key of the database the current one. A new database stores the current key of the first process, unless another
 * SECRET has sealed its values.
 */
export async function adoptKey(db: Database, seal: Seal): Promise<'ok' | 'other secret' | 'previous secret missing'> {
  return await inTransaction(db, async (transaction) => {
    const readRow = () => transaction.selectFrom('secret_check').select(['value', 'previous']).executeTakeFirst()
    let row = await readRow()
    if (!row) {
      const webhook = await transaction.selectFrom('webhooks').select('secret').limit(1).executeTakeFirst()
      if (webhook && !seal.isCurrent(webhook.secret)) return 'other secret'
      await transaction
        .insertInto('secret_check')
        .values({ number: 1, value: checkValue(seal, seal.keyId) })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      row = (await readRow())!
    }
    const id = findKeyId(seal, row)
    if (id === undefined) return 'other secret'
    // During a rotation, only the previous key opens some values.
    if (!previousKeyIds(row).every((keyId) => seal.keyIds().includes(keyId))) return 'previous secret missing'
    seal.useKey(id)
    return 'ok'
  })
}

/** Makes the key of the database the current one. Returns false if the key is unknown. */
export async function followKey(db: Database, seal: Seal): Promise<boolean> {
  const row = await db.selectFrom('secret_check').select(['value', 'previous']).executeTakeFirst()
  const id = row && findKeyId(seal, row)
  if (id !== undefined) seal.useKey(id)
  return id !== undefined
}

/** Makes `next` the current key of all processes. The previous key is stored until `forgetPrevious`. */
export async function switchKey(db: Database, seal: Seal, next: string): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const row = await transaction
      .selectFrom('secret_check')
      .select(['value', 'previous'])
      .modifyEnd(forUpdate(transaction))
      .executeTakeFirstOrThrow()
    const current = findKeyId(seal, row)
    if (current === undefined) throw new Error('The key of the database is unknown.')
    if (current === next) return
    const previous = [...new Set([...previousKeyIds(row), current])].filter((id) => id !== next).join()
    await transaction
      .updateTable('secret_check')
      .set({ value: checkValue(seal, next), previous })
      .execute()
  })
  seal.useKey(next)
}

/** Whether a rotation is in progress. */
export async function needsPrevious(db: Database): Promise<boolean> {
  const row = await db.selectFrom('secret_check').select(['value', 'previous']).executeTakeFirst()
  return row !== undefined && previousKeyIds(row).length > 0
}

/** One SECRET per line: the current one, then the previous ones. */
export const splitSecrets = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** Whether one of the secrets is that of a database with this value in `secret_check`. */
export const isSecretOf = (secrets: string, value: Uint8Array): boolean =>
  splitSecrets(secrets).some((secret) => findKeyId(createSeal(secret), { value }) !== undefined)

/** Call it when the current key opens every value. */
export async function forgetPrevious(db: Database): Promise<void> {
  await db.updateTable('secret_check').set({ previous: '' }).execute()
}
