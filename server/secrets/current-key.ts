import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { createKeyring, type Keyring } from '../keyring.ts'

/**
 * The database stores which key is the current one, so that all processes change it together. The stored value can be derived
 * only from that SECRET.
 */
const checkValue = (keyring: Keyring, keyId: string) => Buffer.from(keyring.deriveKey('secret check', keyId), 'base64')

type Row = { value: Uint8Array; previous: string }
const findKeyId = (keyring: Keyring, { value }: Pick<Row, 'value'>) =>
  keyring.keyIds().find((id) => checkValue(keyring, id).equals(value))
const previousKeyIds = ({ previous }: Row) => previous.split(',').filter((id) => id !== '')

/**
 * Makes the key of the database the current one. A new database stores the current key of the first process, unless another
 * SECRET has encrypted its values.
 */
export async function adoptKey(
  db: Database,
  keyring: Keyring,
): Promise<'ok' | 'other secret' | 'previous secret missing'> {
  return await inTransaction(db, async (transaction) => {
    const readRow = () => transaction.selectFrom('secret_check').select(['value', 'previous']).executeTakeFirst()
    let row = await readRow()
    if (!row) {
      const webhook = await transaction.selectFrom('webhooks').select('secret').limit(1).executeTakeFirst()
      if (webhook && !keyring.isCurrent(webhook.secret)) return 'other secret'
      await transaction
        .insertInto('secret_check')
        .values({ number: 1, value: checkValue(keyring, keyring.keyId) })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      row = (await readRow())!
    }
    const id = findKeyId(keyring, row)
    if (id === undefined) return 'other secret'
    // During a rotation, only the previous key decrypts some values.
    if (!previousKeyIds(row).every((keyId) => keyring.keyIds().includes(keyId))) return 'previous secret missing'
    keyring.useKey(id)
    return 'ok'
  })
}

/** Makes the key of the database the current one. Returns false if the key is unknown. */
export async function followKey(db: Database, keyring: Keyring): Promise<boolean> {
  const row = await db.selectFrom('secret_check').select(['value', 'previous']).executeTakeFirst()
  const id = row && findKeyId(keyring, row)
  if (id !== undefined) keyring.useKey(id)
  return id !== undefined
}

/** Makes `next` the current key of all processes. The previous key is stored until `forgetPrevious`. */
export async function switchKey(db: Database, keyring: Keyring, next: string): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const row = await transaction
      .selectFrom('secret_check')
      .select(['value', 'previous'])
      .modifyEnd(forUpdate(transaction))
      .executeTakeFirstOrThrow()
    const current = findKeyId(keyring, row)
    if (current === undefined) throw new Error('The key of the database is unknown.')
    if (current === next) return
    const previous = [...new Set([...previousKeyIds(row), current])].filter((id) => id !== next).join()
    await transaction
      .updateTable('secret_check')
      .set({ value: checkValue(keyring, next), previous })
      .execute()
  })
  keyring.useKey(next)
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
  splitSecrets(secrets).some((secret) => findKeyId(createKeyring(secret), { value }) !== undefined)

/** Call it when the current key decrypts every value. */
export async function forgetPrevious(db: Database): Promise<void> {
  await db.updateTable('secret_check').set({ previous: '' }).execute()
}
