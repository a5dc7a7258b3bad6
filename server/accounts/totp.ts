import { createHmac, timingSafeEqual } from 'node:crypto'
import { symmetricDecrypt } from 'better-auth/crypto'
import type { Database } from '../database/database.ts'
import type { Auth } from './auth.ts'

const STEP_MS = 30_000

/**
 * Takes a person's code, so that it cannot be used again: RFC 6238 section 5.2. Of two who send it at once only one gets
 * `taken`. `none`: the person has no second factor.
 */
export async function takeCode(
  db: Database,
  auth: Auth,
  { personId, code }: { personId: string; code: string },
  now: number,
): Promise<'taken' | 'wrong' | 'used' | 'none'> {
  const factor = await db
    .selectFrom('second_factors')
    .select(['id', 'secret'])
    .where('person_id', '=', personId)
    .executeTakeFirst()
  if (!factor) return 'none'
  const { secretConfig } = await auth.$context
  const secret = await symmetricDecrypt({ key: secretConfig, data: factor.secret })
  const current = Math.floor(now / STEP_MS)
  // A clock may be one step away: section 5.2.
  const step = [current - 1, current, current + 1].find((each) => isEqual(codeAt(secret, each), code))
  if (step === undefined) return 'wrong'
  const { numUpdatedRows } = await db
    .updateTable('second_factors')
    .set({ last_step: step })
    .where('id', '=', factor.id)
    .where('last_step', '<', step)
    .executeTakeFirst()
  return numUpdatedRows === 0n ? 'used' : 'taken'
}

/** RFC 4226 section 5.3, with 6 digits. */
function codeAt(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', secret).update(counter).digest()
  const number = digest.readUInt32BE(digest[19]! & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

const isEqual = (a: string, b: string) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
