import { hashPassword } from 'better-auth/crypto'
import type { AgentRole } from '#contract/agents.ts'
import { insertAgent, insertPerson } from '../organization/people.ts'
import type { AppWorld } from './app-world.ts'
import { type Browser, openBrowser } from './browser.ts'

export const PASSWORD = 'correct horse battery'

/** A person with an account, an agent of the first organization or of those that are named; not signed in. */
export async function givenPerson(
  { doors, organization }: AppWorld,
  { name, role = 'member', of = ['First'] }: { name: string; role?: AgentRole; of?: string[] },
): Promise<{ id: string; email: string }> {
  const now = doors.clock.now()
  const passwordHash = await hashPassword(PASSWORD)
  const given = { name, email: `${name.toLowerCase()}@example.com`, passwordHash }
  const person = (await insertPerson(doors.db, given, now))!
  for (const each of of) await insertAgent(doors.db, (await organization(each)).id, { person, role }, now)
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
