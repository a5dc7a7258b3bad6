import type { AgentRole } from '#contract/agents.ts'
import { ensureUser, insertAgent } from '../accounts/users.ts'
import type { AppWorld } from './app-world.ts'

/** A further agent of the first organization, or of the one that is named. */
export async function givenAgent(
  { deps, organization }: AppWorld,
  { name, role = 'member', of }: { name: string; role?: AgentRole; of?: string },
): Promise<string> {
  const { id } = await organization(of)
  const now = deps.clock.now()
  const person = await ensureUser(deps.db, { name, email: `${name.toLowerCase()}@example.com` }, now)
  return (await insertAgent(deps.db, id, { user: person, role }, now))!
}
