import { hash } from 'node:crypto'
import { fieldError } from '#contract/field-errors.ts'
import type { RequestContext } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { getTenantRow, organizationName, updateTenantRow } from '../database/tenant-row.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { alertToken, openAlertToken } from '../mail/links.ts'
import { listOwnerEmails } from '../mail/notifications.ts'
import { queueMail } from '../mail/outbox.ts'
import type { FieldErrors } from '../problem.ts'
import { DAY_MS } from '../times.ts'

/** Alerts are mailed to members, and to addresses whose owners confirmed them. Nobody who unsubscribed receives any. */

/** Each unconfirmed address received a mail that somebody else requested. */
const MAX_UNCONFIRMED = 20

export type Recipient = { email: string; addressId: string }

/** The current recipients of a channel. `unconfirmed`: addresses that are not confirmed, or unsubscribed. */
export async function recipientsOf(
  db: Database,
  organizationId: string,
  { owners = false, addresses = [] }: { owners?: boolean; addresses?: string[] },
  now: number,
): Promise<{ recipients: Recipient[]; unconfirmed: string[] }> {
  const members = await memberEmails(db, organizationId, addresses)
  const ownersList = owners ? await listOwnerEmails(db, organizationId) : []
  const emails = [...new Set([...ownersList, ...addresses])]
  const rows = await ensureAddresses(db, organizationId, emails, now)
  const trusted = new Set([...ownersList, ...members])
  const recipients: Recipient[] = []
  const unconfirmed: string[] = []
  for (const email of emails) {
    const { id, confirmed_at, unsubscribed_at } = rows.get(email)!
    if (unsubscribed_at === null && (trusted.has(email) || confirmed_at !== null))
      recipients.push({ email, addressId: id })
    else unconfirmed.push(email)
  }
  return { recipients, unconfirmed }
}

/** Returns an error if too many addresses would be unconfirmed. */
export async function addressErrors(
  db: Database,
  organizationId: string,
  addresses: readonly string[],
): Promise<FieldErrors> {
  const unconfirmed = await unconfirmedOf(db, organizationId, addresses)
  if (unconfirmed.length === 0) return {}
  const { count } = await db
    .selectFrom('alert_addresses')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .where('confirmed_at', 'is', null)
    .where('confirmation_sent_at', 'is not', null)
    .where('email', 'not in', unconfirmed)
    .executeTakeFirstOrThrow()
  if (Number(count) + unconfirmed.length <= MAX_UNCONFIRMED) return {}
  return { 'settings.addresses': fieldError('too_many_unconfirmed', { max: MAX_UNCONFIRMED }) }
}

/** Mails a confirmation link to each address that needs one, at most once a day. Only the link subscribes the address. */
export async function sendConfirmations(
  db: Database,
  keyring: Keyring,
  { organizationId, now }: Pick<RequestContext, 'organizationId' | 'now'>,
  addresses: readonly string[],
): Promise<void> {
  const unconfirmed = await unconfirmedOf(db, organizationId, addresses)
  const rows = await ensureAddresses(db, organizationId, unconfirmed, now)
  const organization = await organizationName(db, organizationId)
  for (const email of unconfirmed) {
    const { id, confirmation_sent_at, unsubscribed_at } = rows.get(email)!
    if (Math.max(confirmation_sent_at ?? 0, unsubscribed_at ?? 0) > now - DAY_MS) continue
    await updateTenantRow(db, 'alert_addresses', { organizationId }, id, { confirmation_sent_at: now })
    const content = { kind: 'alert_address' as const, organization, organizationId, keyId: keyring.keyId }
    await queueMail(db, organizationId, { about: id, recipients: [email], content }, now)
  }
}

type LinkPurpose = 'confirm' | 'unsubscribe'

/** Throws `not_found` for a token that this server did not sign. */
export async function getLinkedAddress(
  db: Database,
  keyring: Keyring,
  purpose: LinkPurpose,
  token: string,
): Promise<{ email: string; organization: string }> {
  const { organizationId, id } = openAlertToken(keyring, purpose, token)
  const { email } = await getTenantRow(db, 'alert_addresses', { organizationId }, id)
  return { email, organization: await organizationName(db, organizationId) }
}

/** Confirms or unsubscribes the address. Throws `not_found` for a token that this server did not sign. */
export async function applyAddressLink(
  db: Database,
  keyring: Keyring,
  purpose: LinkPurpose,
  token: string,
  now: number,
) {
  const address = await getLinkedAddress(db, keyring, purpose, token)
  const { organizationId, id } = openAlertToken(keyring, purpose, token)
  const change = purpose === 'confirm' ? { confirmed_at: now, unsubscribed_at: null } : { unsubscribed_at: now }
  await updateTenantRow(db, 'alert_addresses', { organizationId }, id, change)
  return address
}

export const unsubscribeToken = (keyring: Keyring, organizationId: string, addressId: string): string =>
  alertToken(keyring, 'unsubscribe', organizationId, addressId)

/** For a Message-ID, which must not reveal the address. */
export const mailId = (messageId: string, email: string): string =>
  `${messageId}.${hash('sha256', email, 'hex').slice(0, 16)}`

/** The addresses that need a confirmation: neither members nor confirmed, or unsubscribed. */
async function unconfirmedOf(db: Database, organizationId: string, addresses: readonly string[]): Promise<string[]> {
  if (addresses.length === 0) return []
  const members = new Set(await memberEmails(db, organizationId, addresses))
  const rows = await findAddresses(db, organizationId, addresses)
  return [...new Set(addresses)].filter((email) => {
    const { confirmed_at = null, unsubscribed_at = null } = rows.get(email) ?? {}
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

/** Every recipient needs a row, because its id is in the unsubscribe link. */
async function ensureAddresses(db: Database, organizationId: string, emails: readonly string[], now: number) {
  const existing = await findAddresses(db, organizationId, emails)
  const missing = emails.filter((email) => !existing.has(email))
  if (missing.length === 0) return existing
  await db
    .insertInto('alert_addresses')
    .values(
      missing.map((email) => ({ organization_id: organizationId, id: newId('adr', now), created_at: now, email })),
    )
    .onConflict((conflict) => conflict.columns(['organization_id', 'email']).doNothing())
    .execute()
  return await findAddresses(db, organizationId, emails)
}

async function findAddresses(db: Database, organizationId: string, emails: readonly string[]) {
  const rows = await db
    .selectFrom('alert_addresses')
    .select(['id', 'email', 'confirmation_sent_at', 'confirmed_at', 'unsubscribed_at'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'email', emails))
    .execute()
  return new Map(rows.map((row) => [row.email, row]))
}
