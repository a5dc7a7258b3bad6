import type { Config } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import { countWithin } from '../database/hourly-counts.ts'
import { addressHash } from './addresses.ts'

/**
 * Counts an attempt to send a mail of an organization, whether it succeeds or not. If the address, the organization or the server is at its
 * limit, it counts nothing and returns when the next one is allowed. Mails about a user's account have limits where they are requested.
 */
export async function countMail(
  db: Database,
  { address, organization, server }: Config['mailLimits'],
  { organizationId, email }: { organizationId: string; email: string },
  now: number,
): Promise<number | undefined> {
  const limits = [
    { subject: `mails to ${addressHash(email)}`, limit: address },
    { subject: `mails of ${organizationId}`, limit: organization },
    { subject: 'mails of the server', limit: server },
  ]
  return await countWithin(db, limits, now)
}

export const OVER_LIMIT =
  'the limit of mails in an hour is reached; it is sent when the hour is over (settings MAIL_ADDRESS_LIMIT, MAIL_ORGANIZATION_LIMIT and MAIL_SERVER_LIMIT)'
