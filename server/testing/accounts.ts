import { TOTP, URI } from 'otpauth'
import type { AgentRole } from '#contract/agents.ts'
import { insertAgent } from '../accounts/memberships.ts'
import { ensureUser, insertUserIfNew } from '../accounts/users.ts'
import { type Browser, openBrowser } from './browser.ts'
import { cheapHash } from './cheap-passwords.ts'
import type { TestApp } from './test-app.ts'

export const PASSWORD = 'correct horse battery'

type NewUser = { name: string; role?: AgentRole; organizations?: string[] }

/** A user with a password who is a member of each of the organizations, not signed in. */
export async function givenUser(
  { deps, organization }: TestApp,
  { name, role = 'member', organizations = ['First'] }: NewUser,
): Promise<{ id: string; email: string }> {
  const newUser = { name, email: `${name.toLowerCase()}@example.com`, passwordHash: cheapHash(PASSWORD) }
  const user = (await insertUserIfNew(deps.db, newUser, deps.clock.now()))!
  for (const organizationName of organizations) {
    const { id } = await organization(organizationName)
    await insertAgent(deps.db, id, { user, role }, deps.clock.now())
  }
  return user
}

/** A member of an organization, whose user is created if there is none yet. */
export async function givenAgent(
  { deps, organization }: TestApp,
  { name, role = 'member', organizationName }: { name: string; role?: AgentRole; organizationName?: string },
): Promise<string> {
  const { id } = await organization(organizationName)
  const now = deps.clock.now()
  const user = await ensureUser(deps.db, { name, email: `${name.toLowerCase()}@example.com` }, now)
  return (await insertAgent(deps.db, id, { user, role }, now))!
}

export async function signIn(browser: Browser, email: string, password = PASSWORD): Promise<void> {
  const response = await browser.call('/dashboard/auth/sign-in/email', { body: { email, password } })
  if (response.status !== 200) throw new Error(`${email} could not sign in: ${response.text}`)
}

/** A browser in which a new user is signed in. */
export async function givenSignedInBrowser(world: TestApp, newUser: NewUser, from?: string): Promise<Browser> {
  const { email } = await givenUser(world, newUser)
  const browser = openBrowser(world, from)
  await signIn(browser, email)
  return browser
}

/** A browser in which Ada is signed in with a password and a code. */
export async function givenSecondFactor(world: TestApp) {
  const browser = await givenSignedInBrowser(world, { name: 'Ada' })
  const { body } = await browser.call('/dashboard/auth/two-factor/enable', { body: { password: PASSWORD } })
  const { totpURI: uri, backupCodes: recoveryCodes }: { totpURI: string; backupCodes: string[] } = body
  await confirmCode(browser, currentCode(uri))
  return { world, browser, uri, recoveryCodes }
}

export const currentCode = (uri: string): string => codeAt(uri, Date.now())

/** The code of the next period. The server accepts it already, and each code only once. */
export const nextCode = (uri: string): string => codeAt(uri, Date.now() + 30_000)

function codeAt(uri: string, timestamp: number): string {
  const totp = URI.parse(uri)
  if (!(totp instanceof TOTP)) throw new Error(uri)
  return totp.generate({ timestamp })
}

export async function confirmCode(browser: Browser, code: string, options: object = {}): Promise<void> {
  const response = await browser.call('/dashboard/auth/two-factor/verify-totp', { body: { code, ...options } })
  if (response.status !== 200) throw new Error(`The code ${code} was refused: ${response.text}`)
}
