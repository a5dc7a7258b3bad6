import type { Me } from '#contract/account.ts'
import type { Doors } from '../outside.ts'
import { unauthorized } from '../problem.ts'

const VERSION = '1.0.0'

/** The person and all organizations, in the order of joining. Throws 401 for one who is gone. */
export async function getMe({ db, config }: Pick<Doors, 'db' | 'config'>, personId: string): Promise<Me> {
  const person = await db
    .selectFrom('people')
    .select(['id', 'name', 'email', 'two_factor_enabled'])
    .where('id', '=', personId)
    .executeTakeFirst()
  if (!person) throw unauthorized()
  const organizations = await db
    .selectFrom('agents')
    .innerJoin('organizations', 'organizations.id', 'agents.organization_id')
    .select(['organizations.id', 'organizations.name', 'organizations.slug', 'agents.role', 'agents.id as agent_id'])
    .where('agents.person_id', '=', personId)
    .orderBy('agents.id')
    .limit(1_000)
    .execute()
  const { two_factor_enabled, ...shown } = person
  return {
    person: { ...shown, two_factor: two_factor_enabled === 1 },
    organizations,
    server: {
      base_url: config.baseUrl,
      version: VERSION,
      sends_mail: config.smtp !== null,
      takes_payments: config.stripe !== null,
      sign_up: config.signUp === 'open',
    },
  }
}
