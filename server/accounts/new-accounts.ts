import type { Acceptance, Setup } from '#contract/account.ts'
import { fieldError } from '#contract/field-errors.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Keyring } from '../keyring.ts'
import { forbidden, invalid } from '../problem.ts'
import { hasOrganizations, isSetupToken, setUpOnce } from './first-owner.ts'
import { acceptInvitation, getPendingInvitation } from './invitations.ts'
import { insertOwnedOrganization } from './organizations.ts'
import { type Passwords, refuseCommonPassword } from './passwords.ts'
import { type BrowserOrigin, insertSession, type StartedSession } from './sessions.ts'
import { insertUser, type NewUser, refuseTakenEmail } from './users.ts'

type SignedUp = { userId: string; session: StartedSession }

/** Creates a user with an organization, and signs in. Throws 409 if the address belongs to a user already. */
export async function signUp(
  db: Database,
  { organization, ...newUser }: NewUser & { organization: string },
  origin: BrowserOrigin,
): Promise<SignedUp> {
  return await inTransaction(db, async (transaction) => {
    const user = await insertUser(transaction, newUser, origin.now)
    await insertOwnedOrganization(transaction, user, organization, origin)
    return {
      userId: user.id,
      session: await insertSession(transaction, { userId: user.id, isPersistent: true }, origin),
    }
  })
}

/**
 * Signs up the first user of a server. Throws 403 if the link is wrong or an organization exists. `getOrigin`: called after the password
 * was hashed.
 */
export async function signUpWithSetupLink(
  db: Database,
  { keyring, passwords }: { keyring: Keyring; passwords: Passwords },
  { token, password, ...account }: Setup,
  getOrigin: () => BrowserOrigin,
): Promise<SignedUp> {
  if (!(await isSetupToken(db, keyring, token)) || (await hasOrganizations(db))) throw badLink()
  refuseCommonPassword(password)
  const passwordHash = await passwords.hash(password)
  const origin = getOrigin()
  const signedUp = await setUpOnce(db, (transaction) => signUp(transaction, { ...account, passwordHash }, origin))
  if (!signedUp) throw badLink()
  return signedUp
}

/**
 * Creates the account of an invited user, who becomes an agent, and signs in. Throws like `acceptInvitation`, 400 without a name
 * or a password, 409 if the address belongs to a user already.
 */
export async function signUpWithInvitation(
  db: Database,
  passwords: Passwords,
  { token, acceptance }: { token: string; acceptance: Acceptance },
  origin: BrowserOrigin,
): Promise<{ organizationId: string; session: StartedSession }> {
  const { email } = await getPendingInvitation(db, token, origin.now)
  await refuseTakenEmail(db, email)
  const { name, password } = nameAndPassword(acceptance)
  refuseCommonPassword(password)
  const passwordHash = await passwords.hash(password)
  return await inTransaction(db, async (transaction) => {
    const user = await insertUser(transaction, { name, email, passwordHash }, origin.now)
    const { organizationId } = await acceptInvitation(transaction, { token, user }, origin)
    return {
      organizationId,
      session: await insertSession(transaction, { userId: user.id, isPersistent: true }, origin),
    }
  })
}

const badLink = () =>
  forbidden('This setup link was already used or belongs to another server. Use the link in the server log.')

/** A new account needs both. Throws 400. */
function nameAndPassword({ name, password }: Acceptance): { name: string; password: string } {
  if (name !== undefined && password !== undefined) return { name, password }
  const missing = fieldError('required_for_new_account')
  throw invalid({
    ...(name === undefined ? { name: missing } : {}),
    ...(password === undefined ? { password: missing } : {}),
  })
}
