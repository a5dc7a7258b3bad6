import { hash } from 'node:crypto'
import { sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { countWithin, fullUntil, type HourlyLimit } from '../database/hourly-counts.ts'
import { getTenantRow, lockOrganization, organizationName, updateTenantRow } from '../database/tenant-row.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { invalid, notFound, Problem } from '../problem.ts'
import { DAY_MS, toIsoOrNull } from '../times.ts'
import { CONFIRMATION_MS, openAlertToken } from './links.ts'
import { queueMail } from './outbox.ts'

/**
 * Who receives mails of an organization that are not an answer to a request of their own: alerts, and notices about webhooks. Members do,
 * at the address of their account. Everyone else does after opening the link of a confirmation, and nobody after unsubscribing. An address
 * has one state for all of these mails; its letter case does not matter.
 */
export type AddressState = 'confirmed' | 'unconfirmed' | 'unsubscribed'

/** Each unconfirmed address received a mail that somebody else requested. */
const MAX_UNCONFIRMED = 20
/** Nobody may be asked more often after unsubscribing. */
const DAYS_AFTER_UNSUBSCRIBE = 30
/** Confirmations to one address in 24 hours, of all organizations. */
const CONFIRMATIONS_PER_DAY = 3
/** Confirmations in 24 hours of all organizations of an owner, so that many organizations mail no more strangers than one. */
const CONFIRMATIONS_OF_OWNER = 50

export type Recipient = { email: string; addressId: string }

export const normalizeAddress = (email: string): string => email.trim().toLowerCase()

/** The recipients among the addresses. `refused`: those that are not confirmed, or unsubscribed. */
export async function recipientsOf(
  db: Database,
  organizationId: string,
  addresses: readonly string[],
  now: number,
): Promise<{ recipients: Recipient[]; refused: string[] }> {
  const emails = distinct(addresses)
  const rows = await ensureAddresses(db, organizationId, emails, now)
  const members = await memberEmails(db, organizationId, emails)
  const isRecipient = (email: string) => stateOf(rows.get(email), members.has(email)) === 'confirmed'
  return {
    recipients: emails.filter(isRecipient).map((email) => ({ email, addressId: rows.get(email)!.id })),
    refused: emails.filter((email) => !isRecipient(email)),
  }
}

const MAX_OWNERS = 20

/** Where the owners of an organization receive notifications: at `notification_email`, once it is confirmed. */
export async function listOwnerEmails(db: Database, organizationId: string): Promise<string[]> {
  const owners = await db
    .selectFrom('agents')
    .select(['email', 'notification_email'])
    .where('organization_id', '=', organizationId)
    .where('role', '=', 'owner')
    .orderBy('id')
    .limit(MAX_OWNERS)
    .execute()
  const chosen = owners.flatMap(({ notification_email }) => notification_email ?? [])
  const states = await addressStates(db, organizationId, chosen)
  return owners.map(({ email, notification_email }) => {
    const address = normalizeAddress(notification_email ?? email)
    // An owner who unsubscribed the chosen address is not mailed at the other one either.
    return notification_email !== null && states.get(address) === 'unconfirmed' ? email : address
  })
}

/** The state of each address, by the normalized address. */
export async function addressStates(
  db: Database,
  organizationId: string,
  addresses: readonly string[],
): Promise<Map<string, AddressState>> {
  const emails = distinct(addresses)
  const rows = await findAddresses(db, organizationId, emails)
  const members = await memberEmails(db, organizationId, emails)
  return new Map(emails.map((email) => [email, stateOf(rows.get(email), members.has(email))]))
}

/**
 * Mails a confirmation link to each address that needs one, at most once a day. Only the link subscribes the address. Throws 400 for `field` if
 * too many addresses would be unconfirmed, 429 if an owner of the organization is at the limit. In a transaction, with the organization's lock
 * or before any other one.
 */
export async function requestConfirmations(
  db: Database,
  keyring: Keyring,
  { organizationId, now }: Pick<RequestContext, 'organizationId' | 'now'>,
  addresses: readonly string[],
  field: string,
): Promise<void> {
  await lockOrganization(db, organizationId)
  const unconfirmed = await unconfirmedOf(db, organizationId, addresses)
  if (unconfirmed.length === 0) return
  await refuseTooMany(db, organizationId, unconfirmed, field)
  const rows = await ensureAddresses(db, organizationId, unconfirmed, now)
  const organization = await organizationName(db, organizationId)
  const owners = await ownerLimits(db, organizationId)
  for (const email of unconfirmed) {
    const { id, confirmation_sent_at, unsubscribed_at } = rows.get(email)!
    if ((confirmation_sent_at ?? 0) > now - DAY_MS) continue
    if ((unsubscribed_at ?? 0) > now - DAYS_AFTER_UNSUBSCRIBE * DAY_MS) continue
    const limit = { subject: `confirmations to ${addressHash(email)}`, limit: CONFIRMATIONS_PER_DAY, periodMs: DAY_MS }
    if ((await countWithin(db, [limit, ...owners], now)) !== undefined) {
      await refuseFullOwner(db, owners, now)
      continue
    }
    await updateTenantRow(db, 'alert_addresses', { organizationId }, id, { confirmation_sent_at: now })
    const content = {
      kind: 'alert_address',
      organization,
      organizationId,
      issuedAt: now,
      keyId: keyring.keyId,
    } as const
    await queueMail(db, organizationId, { about: id, recipients: [email], content }, now)
  }
}

async function refuseTooMany(db: Database, organizationId: string, unconfirmed: readonly string[], field: string) {
  const { count } = await db
    .selectFrom('alert_addresses')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .where('confirmed_at', 'is', null)
    .where('confirmation_sent_at', 'is not', null)
    .where('email', 'not in', unconfirmed)
    .executeTakeFirstOrThrow()
  if (Number(count) + unconfirmed.length <= MAX_UNCONFIRMED) return
  throw invalid({ [field]: fieldError('too_many_unconfirmed', { max: MAX_UNCONFIRMED }) })
}

async function ownerLimits(db: Database, organizationId: string): Promise<HourlyLimit[]> {
  const owners = await db
    .selectFrom('agents')
    .select('person_id')
    .where('organization_id', '=', organizationId)
    .where('role', '=', 'owner')
    .execute()
  const limit = { limit: CONFIRMATIONS_OF_OWNER, periodMs: DAY_MS }
  return owners.map(({ person_id }) => ({ subject: `confirmations of ${person_id}`, ...limit }))
}

async function refuseFullOwner(db: Database, owners: readonly HourlyLimit[], now: number): Promise<void> {
  for (const owner of owners) {
    if ((await fullUntil(db, owner, now)) === undefined) continue
    throw new Problem(
      429,
      `Your organization, with others of the same owners, asked ${CONFIRMATIONS_OF_OWNER} addresses for confirmation in 24 hours, which is the limit. Try again tomorrow.`,
    )
  }
}

/** The newest 200 addresses that were mailed, or are to be. */
export async function listAddresses(db: Database, { organizationId }: Tenant) {
  const rows = await db
    .selectFrom('alert_addresses')
    .select(['id', 'email', ...STATE_COLUMNS])
    .where('organization_id', '=', organizationId)
    .orderBy('id', 'desc')
    .limit(200)
    .execute()
  const emails = rows.map(({ email }) => normalizeAddress(email))
  const members = await memberEmails(db, organizationId, emails)
  return rows.map((row) => ({
    email: row.email,
    state: stateOf(row, members.has(normalizeAddress(row.email))),
    confirmation_sent: toIsoOrNull(row.confirmation_sent_at),
  }))
}

type LinkPurpose = 'confirm' | 'unsubscribe'

/** Throws 404 for a token that this server did not sign, and for a confirmation that expired or was replaced. */
export async function getLinkedAddress(
  db: Database,
  keyring: Keyring,
  { purpose, token }: { purpose: LinkPurpose; token: string },
  now: number,
): Promise<{ email: string; organization: string }> {
  const { organizationId, email } = await openAddressLink(db, keyring, { purpose, token }, now)
  return { email, organization: await organizationName(db, organizationId) }
}

/** Confirms or unsubscribes the address. Throws like `getLinkedAddress`. */
export async function applyAddressLink(
  db: Database,
  keyring: Keyring,
  link: { purpose: LinkPurpose; token: string },
  now: number,
): Promise<{ email: string; organization: string }> {
  return await inTransaction(db, async (transaction) => {
    const { organizationId, email } = await openAddressLink(transaction, keyring, link, now)
    const change =
      link.purpose === 'confirm'
        ? { confirmed_at: now, unsubscribed_at: null }
        : // No confirmation that was sent before subscribes the address again.
          { unsubscribed_at: now, confirmation_sent_at: null }
    await transaction
      .updateTable('alert_addresses')
      .set(change)
      .where('organization_id', '=', organizationId)
      .where(sql`lower(email)`, '=', email)
      .execute()
    return { email, organization: await organizationName(transaction, organizationId) }
  })
}

async function openAddressLink(
  db: Database,
  keyring: Keyring,
  { purpose, token }: { purpose: LinkPurpose; token: string },
  now: number,
): Promise<{ organizationId: string; email: string }> {
  const { organizationId, id } = openAlertToken(keyring, purpose, token)
  const [addressId = '', issuedAt] = id.split('~')
  const row = await getTenantRow(db, 'alert_addresses', { organizationId }, addressId)
  if (purpose === 'confirm') {
    const sentAt = row.confirmation_sent_at
    if (sentAt === null || String(sentAt) !== issuedAt || sentAt <= now - CONFIRMATION_MS)
      throw new Problem(404, 'This confirmation link expired or was replaced. Ask the organization for a new one.')
  } else if (issuedAt !== undefined) throw notFound()
  return { organizationId, email: normalizeAddress(row.email) }
}

/** For a Message-ID and counters, which must not reveal the address. */
export const addressHash = (email: string): string => hash('sha256', normalizeAddress(email), 'hex').slice(0, 16)

/** The addresses that need a confirmation. */
async function unconfirmedOf(db: Database, organizationId: string, addresses: readonly string[]): Promise<string[]> {
  const states = await addressStates(db, organizationId, addresses)
  return [...states].flatMap(([email, state]) => (state === 'confirmed' ? [] : [email]))
}

const STATE_COLUMNS = ['confirmation_sent_at', 'confirmed_at', 'unsubscribed_at'] as const
type AddressRow = { [C in (typeof STATE_COLUMNS)[number]]: number | null }

/** Members are confirmed: they signed up or were invited with a link to that address. */
function stateOf(row: AddressRow | undefined, isMember: boolean): AddressState {
  if (row !== undefined && row.unsubscribed_at !== null) return 'unsubscribed'
  return isMember || (row !== undefined && row.confirmed_at !== null) ? 'confirmed' : 'unconfirmed'
}

async function memberEmails(db: Database, organizationId: string, emails: readonly string[]): Promise<Set<string>> {
  if (emails.length === 0) return new Set()
  const rows = await db
    .selectFrom('agents')
    .select('email')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'email', emails))
    .execute()
  return new Set(rows.map(({ email }) => email))
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

/** By the normalized address. Earlier versions stored several spellings of one address: whoever unsubscribed one unsubscribed all. */
async function findAddresses(db: Database, organizationId: string, emails: readonly string[]) {
  const found = new Map<string, AddressRow & { id: string }>()
  if (emails.length === 0) return found
  const rows = await db
    .selectFrom('alert_addresses')
    .select(['id', 'email', ...STATE_COLUMNS])
    .where('organization_id', '=', organizationId)
    .where(sql<string>`lower(email)`, 'in', emails)
    .orderBy('id')
    .execute()
  for (const row of rows) {
    const email = normalizeAddress(row.email)
    const other = found.get(email)
    found.set(email, {
      id: row.email === email || other === undefined ? row.id : other.id,
      confirmation_sent_at: latest(row.confirmation_sent_at, other?.confirmation_sent_at),
      confirmed_at: latest(row.confirmed_at, other?.confirmed_at),
      unsubscribed_at: latest(row.unsubscribed_at, other?.unsubscribed_at),
    })
  }
  return found
}

const latest = (a: number | null, b: number | null = null): number | null =>
  a === null ? b : b === null ? a : Math.max(a, b)

const distinct = (addresses: readonly string[]): string[] => [...new Set(addresses.map(normalizeAddress))]
