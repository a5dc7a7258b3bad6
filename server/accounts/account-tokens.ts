import { randomBytes, randomInt } from 'node:crypto'
import type { Database } from '../database/database.ts'
import type { AccountTokensTable } from '../database/schema-people.ts'
import { hashOfToken } from '../mail/links.ts'
import { lockAccount } from './users.ts'

/** Links in mails, sign-ins that wait for a code, and trusted browsers. Only the hash of a token is stored. */
export type TokenPurpose = AccountTokensTable['purpose']['__select__']

export const LINK_PURPOSES: readonly TokenPurpose[] = ['reset-password', 'change-email']
export const SIGN_IN_PURPOSES: readonly TokenPurpose[] = ['pending-sign-in', 'trusted-browser']

/** 256 random bits. */
export const newToken = (): string => randomBytes(32).toString('base64url')

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export const randomBase62 = (length: number): string => Array.from({ length }, () => BASE62[randomInt(62)]).join('')

type NewToken = { token: string; purpose: TokenPurpose; userId: string | null; content?: object; expiresAt: number }

export async function insertToken(db: Database, { token, purpose, userId, content = {}, expiresAt }: NewToken) {
  await db
    .insertInto('account_tokens')
    .values({
      ...{ token_hash: hashOfToken(token), purpose, person_id: userId },
      ...{ content: JSON.stringify(content), expires_at: expiresAt },
    })
    .execute()
}

/** The user of a valid token; undefined for a used or expired one. */
export async function findTokenOwner(db: Database, purpose: TokenPurpose, token: string, now: number) {
  const row = await db
    .selectFrom('account_tokens')
    .select('person_id')
    .where('token_hash', '=', hashOfToken(token))
    .where('purpose', '=', purpose)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row?.person_id ?? undefined
}

/** The content of a valid token, which stays valid. */
export async function findTokenContent<T>(
  db: Database,
  purpose: TokenPurpose,
  token: string,
  now: number,
): Promise<T | undefined> {
  const row = await db
    .selectFrom('account_tokens')
    .select('content')
    .where('token_hash', '=', hashOfToken(token))
    .where('purpose', '=', purpose)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row && (JSON.parse(row.content) as T)
}

/** Returns the content of a token and deletes it, so that it works once. Undefined for a used or expired token. */
export async function consumeToken<T>(db: Database, purpose: TokenPurpose, token: string, now: number) {
  const row = await db
    .deleteFrom('account_tokens')
    .where('token_hash', '=', hashOfToken(token))
    .where('purpose', '=', purpose)
    .returning(['content', 'expires_at'])
    .executeTakeFirst()
  return row && row.expires_at > now ? (JSON.parse(row.content) as T) : undefined
}

/** Also locks the account, before the token: every change of an account takes its locks in this order. */
export async function consumeAccountToken<T>(transaction: Database, purpose: TokenPurpose, token: string, now: number) {
  const userId = await findTokenOwner(transaction, purpose, token, now)
  const account = userId && (await lockAccount(transaction, userId))
  const content = account ? await consumeToken<T>(transaction, purpose, token, now) : undefined
  return account && content ? { account, content } : undefined
}

export async function deleteTokens(db: Database, userId: string, purposes: readonly TokenPurpose[]): Promise<void> {
  await db.deleteFrom('account_tokens').where('person_id', '=', userId).where('purpose', 'in', purposes).execute()
}
