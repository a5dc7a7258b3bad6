import type { Me } from '#contract/account.ts'
import packageJson from '../../package.json' with { type: 'json' }
import type { Database } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { conflict, unauthorized } from '../problem.ts'
import { findPerson, insertPerson, type Person } from './people.ts'

/** The person and all organizations, in the order of joining. Throws 401 for one who is gone. */
export async function getMe({ db, config }: Pick<Deps, 'db' | 'config'>, personId: string): Promise<Me> {
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
      version: packageJson.version,
      sends_mail: config.smtp !== null,
      takes_payments: config.stripe !== null,
      sign_up: config.signUp === 'open',
    },
  }
}

type NewAccount = { name: string; email: string; passwordHash: string; isVerified?: boolean }

/** Throws 409 when the address has an account already: who it belongs to signs in with it. */
export async function insertAccount(db: Database, given: NewAccount, now: number): Promise<Person> {
  const person = await insertPerson(db, given, now)
  if (!person) throw known()
  return person
}

/** Before the password of a new account is hashed. Throws 409 when the address has an account already. */
export async function refuseKnown(db: Database, email: string): Promise<void> {
  if (await findPerson(db, email)) throw known()
}

const known = () => conflict('An account with this address already exists. Sign in first.')

const MOST_OWNED = 50

/** Throws 409 when the person owns as many organizations as anybody may. */
export async function refuseManyOrganizations(db: Database, personId: string): Promise<void> {
  const owned = await db
    .selectFrom('agents')
    .select('id')
    .where('person_id', '=', personId)
    .where('role', '=', 'owner')
    .limit(MOST_OWNED)
    .execute()
  if (owned.length >= MOST_OWNED) throw conflict(`You own ${MOST_OWNED} organizations; which is the limit.`)
}
