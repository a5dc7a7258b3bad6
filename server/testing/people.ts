import type { AgentRole } from '#contract/agents.ts'
import { ensurePerson, insertAgent } from '../organization/people.ts'
import type { AppWorld } from './app-world.ts'

/** A further agent of the first organization, or of the one that is named. */
export async function givenAgent(
  { doors, organization }: AppWorld,
  { name, role = 'member', of }: { name: string; role?: AgentRole; of?: string },
): Promise<string> {
  const { id } = await organization(of)
  const now = doors.clock.now()
  const person = await ensurePerson(doors.db, { name, email: `${name.toLowerCase()}@example.com` }, now)
  return (await insertAgent(doors.db, id, { person, role }, now))!
}
