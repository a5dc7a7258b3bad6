import { TOTP, URI } from 'otpauth'
import type { AgentRole } from '#contract/agents.ts'
import { insertAgent, insertUserIfNew } from '../accounts/users.ts'
import type { AppWorld } from './app-world.ts'
import { type Browser, openBrowser } from './browser.ts'
import { cheapHash } from './passwords.ts'

export const PASSWORD = 'correct horse battery'

/** A person with an account, an agent of the first organization or of those that are named; not signed in. */
export async function givenPerson(
  { deps, organization }: AppWorld,
  { name, role = 'member', of = ['First'] }: { name: string; role?: AgentRole; of?: string[] },
): Promise<{ id: string; email: string }> {
  const passwordHash = cheapHash(PASSWORD)
  const given = { name, email: `${name.toLowerCase()}@example.com`, passwordHash }
  const person = (await insertUserIfNew(deps.db, given, deps.clock.now()))!
  for (const each of of) {
    const { id } = await organization(each)
    await insertAgent(deps.db, id, { user: person, role }, deps.clock.now())
  }
  return person
}

export async function signIn(browser: Browser, email: string, password = PASSWORD): Promise<void> {
  const answer = await browser.call('/dashboard/auth/sign-in/email', { body: { email, password } })
  if (answer.status !== 200) throw new Error(`${email} could not sign in: ${answer.text}`)
}

/** A person in front of a browser, signed in. */
export async function givenSignedIn(
  world: AppWorld,
  person: Parameters<typeof givenPerson>[1],
  from?: string,
): Promise<Browser> {
  const { email } = await givenPerson(world, person)
  const browser = openBrowser(world, from)
  await signIn(browser, email)
  return browser
}

/** Ada, who signs in with a password and a code. */
export async function givenSecondFactor(world: AppWorld) {
  const browser = await givenSignedIn(world, { name: 'Ada' })
  const { body } = await browser.call('/dashboard/auth/two-factor/enable', { body: { password: PASSWORD } })
  const { totpURI: uri, backupCodes }: { totpURI: string; backupCodes: string[] } = body
  await confirm(browser, codeNow(uri))
  return { world, browser, uri, backupCodes }
}

export const codeNow = (uri: string): string => codeAt(uri, Date.now())

/** The code after the present one, which is accepted already: each is accepted once. */
export const nextCode = (uri: string): string => codeAt(uri, Date.now() + 30_000)

function codeAt(uri: string, timestamp: number): string {
  const totp = URI.parse(uri)
  if (!(totp instanceof TOTP)) throw new Error(uri)
  return totp.generate({ timestamp })
}

export async function confirm(browser: Browser, code: string, more: object = {}): Promise<void> {
  const answer = await browser.call('/dashboard/auth/two-factor/verify-totp', { body: { code, ...more } })
  if (answer.status !== 200) throw new Error(`The code ${code} was refused: ${answer.text}`)
}
