import { type Database, inTransaction } from '../database/database.ts'
import { createSeal } from '../seal.ts'

/** The value that a database made under this SECRET records. */
export const secretCheckOf = (secret: string): Buffer =>
  Buffer.from(createSeal(secret).keyFor('secret check'), 'base64')

/**
 * Whether the database was made under this SECRET. One that does not know yet takes it on, unless it holds what another one
 * has sealed. Of several processes that start at once the first decides for all.
 */
export async function isOwnSecret(db: Database, secret: string): Promise<boolean> {
  const seal = createSeal(secret)
  const own = secretCheckOf(secret)
  return await inTransaction(db, async (transaction) => {
    const known = () => transaction.selectFrom('secret_check').select('value').executeTakeFirst()
    const before = await known()
    if (before) return own.equals(before.value)
    const webhook = await transaction.selectFrom('webhooks').select('secret').limit(1).executeTakeFirst()
    if (webhook && !seal.isOwn(webhook.secret)) return false
    const row = { number: 1, value: own }
    await transaction
      .insertInto('secret_check')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    return own.equals((await known())!.value)
  })
}
