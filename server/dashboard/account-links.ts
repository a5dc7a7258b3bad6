import type { Auth } from '../access/auth.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { newId } from '../ids.ts'
import { accountToken } from '../mail/account-link.ts'
import type { AccountMail } from '../mail/content.ts'
import { queueMail } from '../mail/outbox.ts'
import { emailOf, findPerson } from '../organization/people.ts'
import type { Doors } from '../outside.ts'
import { conflict, invalid } from '../problem.ts'

const VALID_FOR_MS = 60 * 60_000

type LinkDoors = Pick<Doors, 'db' | 'clock' | 'seal'>

/** Mails a link to choose a new password; to an address without an account nothing. */
export async function sendResetLink(doors: LinkDoors, auth: Auth, email: string): Promise<void> {
  const person = await findPerson(doors.db, email)
  if (!person) return
  await sendLink(doors, auth, person.email, { purpose: 'reset-password', value: person.id, kind: 'password_reset' })
}

/** Mails a link to the new address; the change waits for it. To an address that another account has, nothing. */
export async function sendEmailLink(doors: LinkDoors, auth: Auth, personId: string, newEmail: string): Promise<void> {
  const email = emailOf(newEmail)
  if (await findPerson(doors.db, email)) return
  const value = JSON.stringify({ personId, email })
  await sendLink(doors, auth, email, { purpose: 'change-email', value, kind: 'email_confirmation' })
}

/** Makes the change that a link stands for, once. Throws 400 for a link that was used or has run out. */
export async function confirmEmail(doors: LinkDoors, auth: Auth, token: string): Promise<void> {
  const { internalAdapter } = await auth.$context
  const found = await internalAdapter.consumeVerificationValue(`change-email:${token}`)
  if (!found || found.expiresAt.getTime() <= doors.clock.now()) {
    throw invalid({ token: 'belongs to a link that was used or has run out; change the address again.' })
  }
  const { personId, email }: { personId: string; email: string } = JSON.parse(found.value)
  await changeEmail(doors, { personId, email, isVerified: true })
}

/** Everywhere at once: the person, and the memberships that repeat the address. The old address is told. Throws 409. */
export async function changeEmail(
  { db, clock }: Pick<Doors, 'db' | 'clock'>,
  { personId, email, isVerified }: { personId: string; email: string; isVerified: boolean },
): Promise<void> {
  const now = clock.now()
  await inTransaction(db, async (transaction) => {
    if (await findPerson(transaction, email)) throw conflict(`${email} belongs to another account.`)
    const before = await transaction.selectFrom('people').select('email').where('id', '=', personId).executeTakeFirst()
    if (!before) throw conflict('This account is no more.')
    const person = { email: emailOf(email), email_verified: isVerified ? 1 : 0, updated_at: now } as const
    await transaction.updateTable('people').set(person).where('id', '=', personId).execute()
    await transaction.updateTable('agents').set({ email: person.email }).where('person_id', '=', personId).execute()
    await tellPerson(transaction, before.email, { kind: 'email_changed', email: person.email }, now)
  })
}

/** Writes a person what happened to the own account. */
export async function tellPerson(db: Database, recipient: string, content: AccountMail, now: number): Promise<void> {
  await queueMail(db, null, { about: newId('lnk', now), recipients: [recipient], content }, now)
}

type Link = { purpose: 'reset-password' | 'change-email'; value: string; kind: 'password_reset' | 'email_confirmation' }

async function sendLink(
  { db, clock, seal }: LinkDoors,
  auth: Auth,
  recipient: string,
  { purpose, value, kind }: Link,
): Promise<void> {
  const now = clock.now()
  const id = newId('lnk', now)
  const { internalAdapter } = await auth.$context
  await internalAdapter.createVerificationValue({
    identifier: `${purpose}:${accountToken(seal, id)}`,
    value,
    expiresAt: new Date(now + VALID_FOR_MS),
  })
  const content = kind === 'password_reset' ? { kind } : { kind, email: recipient }
  await queueMail(db, null, { about: id, recipients: [recipient], content }, now)
}
