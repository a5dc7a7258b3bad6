import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { createSeal, type Seal } from '../seal.ts'

/**
 * The database says which of the known keys seals and signs, so that all processes change it together. What it holds is a
 * value that only the right SECRET gives.
 */
const checkOf = (seal: Seal, keyId: string) => Buffer.from(seal.deriveKey('secret check', keyId), 'base64')

type Row = { value: Uint8Array; previous: string }
const idIn = (seal: Seal, { value }: Row) => seal.keyIds().find((id) => checkOf(seal, id).equals(value))
const previousIn = ({ previous }: Row) => previous.split(',').filter((id) => id !== '')

export type Adopted = 'ok' | 'other secret' | 'previous secret missing'

/**
 * Uses the key that the database names. A database that names none yet takes the one in use, unless it holds what another one
 * has sealed. Of several processes that start at once the first decides for all.
 */
export async function adoptKey(db: Database, seal: Seal): Promise<Adopted> {
  return await inTransaction(db, async (transaction) => {
    const known = () => transaction.selectFrom('secret_check').select(['value', 'previous']).executeTakeFirst()
    let row = await known()
    if (!row) {
      const webhook = await transaction.selectFrom('webhooks').select('secret').limit(1).executeTakeFirst()
      if (webhook && !seal.isCurrent(webhook.secret)) return 'other secret'
      await transaction
        .insertInto('secret_check')
        .values({ number: 1, value: checkOf(seal, seal.keyId) })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      row = (await known())!
    }
    const id = idIn(seal, row)
    if (id === undefined) return 'other secret'
    // Until a rotation is over, some values can be opened with the key before alone.
    if (!previousIn(row).every((each) => seal.keyIds().includes(each))) return 'previous secret missing'
    seal.useKey(id)
    return 'ok'
  })
}

/** Uses the key that the database names now. Returns false where that one is not known. */
export async function followKey(db: Database, seal: Seal): Promise<boolean> {
  const row = await db.selectFrom('secret_check').select(['value', 'previous']).executeTakeFirst()
  const id = row && idIn(seal, row)
  if (id !== undefined) seal.useKey(id)
  return id !== undefined
}

/** Makes `next` the key that seals and signs, everywhere. `previous` is remembered until `forgetPrevious`. */
export async function switchKey(db: Database, seal: Seal, next: string): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const row = await transaction
      .selectFrom('secret_check')
      .select(['value', 'previous'])
      .modifyEnd(forUpdate(transaction))
      .executeTakeFirstOrThrow()
    const current = idIn(seal, row)
    if (current === undefined) throw new Error('The key of the database is not known here.')
    if (current === next) return
    const previous = [...new Set([...previousIn(row), current])].filter((id) => id !== next).join()
    await transaction
      .updateTable('secret_check')
      .set({ value: checkOf(seal, next), previous })
      .execute()
  })
  seal.useKey(next)
}

/** Whether a rotation is in progress. */
export async function needsPrevious(db: Database): Promise<boolean> {
  const row = await db.selectFrom('secret_check').select(['value', 'previous']).executeTakeFirst()
  return row !== undefined && previousIn(row).length > 0
}

/** One SECRET on each line: the first is to be used, the others are those before. */
export const splitSecrets = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** Whether one of these is the SECRET of a database, by the value that the database holds. */
export const isSecretOf = (secrets: string, value: Uint8Array): boolean =>
  splitSecrets(secrets).some((each) => Buffer.from(createSeal(each).deriveKey('secret check'), 'base64').equals(value))

/** No value needs another key than the one in use any more. */
export async function forgetPrevious(db: Database): Promise<void> {
  await db.updateTable('secret_check').set({ previous: '' }).execute()
}
