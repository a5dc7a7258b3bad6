import { hash } from 'node:crypto'
import { fieldError } from '#contract/field-errors.ts'
import type { RequestContext } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { newId } from '../ids.ts'
import { alertToken, openAlertToken } from '../mail/links.ts'
import { queueMail } from '../mail/outbox.ts'
import { type FieldErrors, notFound } from '../problem.ts'
import type { Seal } from '../seal.ts'

/** Who may be sent alerts by email: members, and addresses whose owners confirmed it. Nobody who unsubscribed. */

const DAY_MS = 24 * 60 * 60_000
/** Addresses of an organization that wait to be confirmed: each of them got a mail that somebody else asked for. */
const MOST_UNCONFIRMED = 20
const MOST_OWNERS = 20

export type Recipient = { email: string; addressId: string }

/** The recipients of a channel at this moment. `waiting`: those that are not confirmed, or unsubscribed. */
export async function recipientsOf(
  db: Database,
  organizationId: string,
  { owners = false, addresses = [] }: { owners?: boolean; addresses?: string[] },
  now: number,
): Promise<{ recipients: Recipient[]; waiting: string[] }> {
  const members = await memberEmails(db, organizationId, addresses)
  const ownerEmails = owners ? await emailsOfOwners(db, organizationId) : []
  const wanted = [...new Set([...ownerEmails, ...addresses])]
  const known = await ensureAddresses(db, organizationId, wanted, now)
  const trusted = new Set([...ownerEmails, ...members])
  const recipients: Recipient[] = []
  const waiting: string[] = []
  for (const email of wanted) {
    const { id, confirmed_at, unsubscribed_at } = known.get(email)!
    if (unsubscribed_at === null && (trusted.has(email) || confirmed_at !== null))
      recipients.push({ email, addressId: id })
    else waiting.push(email)
  }
  return { recipients, waiting }
}

/** Says which of these addresses cannot be added, where too many wait for a confirmation. */
export async function refuseAddresses(
  db: Database,
  organizationId: string,
  addresses: readonly string[],
): Promise<FieldErrors> {
  const strangers = await unconfirmed(db, organizationId, addresses)
  const { count } = await db
    .selectFrom('alert_addresses')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .where('confirmed_at', 'is', null)
    .where('confirmation_sent_at', 'is not', null)
    .where('email', 'not in', [...strangers, ''])
    .executeTakeFirstOrThrow()
  if (strangers.length === 0 || Number(count) + strangers.length <= MOST_UNCONFIRMED) return {}
  return { 'settings.addresses': fieldError('too_many_unconfirmed', { max: MOST_UNCONFIRMED }) }
}

/** Sends a confirmation to those who are neither members nor confirmed, or who unsubscribed: at most one a day. Only its link subscribes them. */
export async function askToConfirm(
  db: Database,
  seal: Seal,
  { organizationId, now }: Pick<RequestContext, 'organizationId' | 'now'>,
  addresses: readonly string[],
): Promise<void> {
  const strangers = await unconfirmed(db, organizationId, addresses)
  const known = await ensureAddresses(db, organizationId, strangers, now)
  const { name } = await db
    .selectFrom('organizations')
    .select('name')
    .where('id', '=', organizationId)
    .executeTakeFirstOrThrow()
  for (const email of strangers) {
    const { id, confirmation_sent_at, unsubscribed_at } = known.get(email)!
    if (Math.max(confirmation_sent_at ?? 0, unsubscribed_at ?? 0) > now - DAY_MS) continue
    await db
      .updateTable('alert_addresses')
      .set({ confirmation_sent_at: now })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    const content = { kind: 'alert_address' as const, organization: name, organizationId, keyId: seal.keyId }
    await queueMail(db, organizationId, { about: id, recipients: [email], content }, now)
  }
}

/** What the link of a mail does. Throws `not_found` for a link that is not one of this server. */
export async function useLink(
  db: Database,
  seal: Seal,
  purpose: 'confirm' | 'unsubscribe',
  token: string,
  now: number | null,
): Promise<{ email: string; organization: string }> {
  const { organizationId, id } = openAlertToken(seal, purpose, token)
  return await inTransaction(db, async (transaction) => {
    const row = await transaction
      .selectFrom('alert_addresses')
      .innerJoin('organizations', 'organizations.id', 'alert_addresses.organization_id')
      .select(['alert_addresses.email', 'organizations.name'])
      .where('alert_addresses.organization_id', '=', organizationId)
      .where('alert_addresses.id', '=', id)
      .executeTakeFirst()
    if (!row) throw notFound()
    const set = purpose === 'confirm' ? { confirmed_at: now, unsubscribed_at: null } : { unsubscribed_at: now }
    if (now !== null) {
      await transaction
        .updateTable('alert_addresses')
        .set(set)
        .where('organization_id', '=', organizationId)
        .where('id', '=', id)
        .execute()
    }
    return { email: row.email, organization: row.name }
  })
}

export const unsubscribeToken = (seal: Seal, organizationId: string, addressId: string): string =>
  alertToken(seal, 'unsubscribe', organizationId, addressId)

/** Of a Message-ID: does not tell the address. */
export const mailId = (alertId: string, email: string): string =>
  `${alertId}.${hash('sha256', email, 'hex').slice(0, 16)}`

async function unconfirmed(db: Database, organizationId: string, addresses: readonly string[]): Promise<string[]> {
  if (addresses.length === 0) return []
  const members = new Set(await memberEmails(db, organizationId, addresses))
  const rows = await db
    .selectFrom('alert_addresses')
    .select(['email', 'confirmed_at', 'unsubscribed_at'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'email', addresses))
    .execute()
  const known = new Map(rows.map((row) => [row.email, row]))
  return [...new Set(addresses)].filter((email) => {
    const { confirmed_at = null, unsubscribed_at = null } = known.get(email) ?? {}
    return unsubscribed_at !== null || (confirmed_at === null && !members.has(email))
  })
}

async function memberEmails(db: Database, organizationId: string, addresses: readonly string[]): Promise<string[]> {
  if (addresses.length === 0) return []
  const rows = await db
    .selectFrom('agents')
    .select('email')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'email', addresses))
    .execute()
  return rows.map(({ email }) => email)
}

async function emailsOfOwners(db: Database, organizationId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('agents')
    .select(['email', 'notification_email'])
    .where('organization_id', '=', organizationId)
    .where('role', '=', 'owner')
    .orderBy('id')
    .limit(MOST_OWNERS)
    .execute()
  return rows.map(({ email, notification_email }) => notification_email ?? email)
}

/** Every recipient has a row, whose id is in the unsubscribe link. */
async function ensureAddresses(db: Database, organizationId: string, emails: readonly string[], now: number) {
  const find = () =>
    db
      .selectFrom('alert_addresses')
      .select(['id', 'email', 'confirmation_sent_at', 'confirmed_at', 'unsubscribed_at'])
      .where('organization_id', '=', organizationId)
      .where(isOneOf(db, 'email', emails))
      .execute()
  if (emails.length === 0) return new Map<string, never>()
  const known = new Set((await find()).map(({ email }) => email))
  const missing = emails.filter((email) => !known.has(email))
  if (missing.length > 0) {
    await db
      .insertInto('alert_addresses')
      .values(
        missing.map((email) => ({ organization_id: organizationId, id: newId('adr', now), created_at: now, email })),
      )
      .onConflict((conflict) => conflict.columns(['organization_id', 'email']).doNothing())
      .execute()
  }
  return new Map((await find()).map((row) => [row.email, row]))
}
