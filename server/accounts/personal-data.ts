import type { PersonalData } from '#contract/account.ts'
import type { Database } from '../database/database.ts'
import { unauthorized } from '../problem.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { isOwnMail } from './own-mails.ts'

/** Newest first; of each kind and organization. */
const MAX_ROWS = 1_000

/** The account, and what organizations store about the user, without secrets. Not the name where it is only a creator. Throws 401 for a deleted user. */
export async function exportPersonalData(db: Database, userId: string): Promise<PersonalData> {
  const person = await db.selectFrom('people').selectAll().where('id', '=', userId).executeTakeFirst()
  if (!person) throw unauthorized()
  const sessions = await db
    .selectFrom('sessions')
    .selectAll()
    .where('person_id', '=', userId)
    .orderBy('created_at', 'desc')
    .limit(MAX_ROWS)
    .execute()
  const identities = await db
    .selectFrom('identities')
    .selectAll()
    .where('person_id', '=', userId)
    .orderBy('created_at')
    .limit(MAX_ROWS)
    .execute()
  const mails = await db
    .selectFrom('mails')
    .select(['created_at', 'organization_id', 'content', 'status'])
    .where('recipient', '=', person.email)
    .where(isOwnMail(userId))
    .orderBy('id', 'desc')
    .limit(MAX_ROWS)
    .execute()
  const memberships = await db
    .selectFrom('agents')
    .innerJoin('organizations', 'organizations.id', 'agents.organization_id')
    .selectAll('agents')
    .select('organizations.name as organization')
    .where('person_id', '=', userId)
    .orderBy('agents.id')
    .limit(MAX_ROWS)
    .execute()
  const organizations: PersonalData['organizations'] = []
  for (const row of memberships) {
    organizations.push({
      ...{ id: row.organization_id, name: row.organization, agent_id: row.id, role: row.role },
      notification_email: row.notification_email,
      joined: toIso(row.created_at),
      last_seen: toIsoOrNull(row.last_seen_at),
      ...(await findWork(db, row.organization_id, row.id, person.email)),
    })
  }
  return {
    person: {
      ...{ id: person.id, name: person.name, email: person.email },
      ...{ email_verified: person.email_verified === 1, two_factor: person.two_factor_enabled === 1 },
      ...{ created: toIso(person.created_at), updated: toIso(person.updated_at) },
    },
    sessions: sessions.map((row) => ({
      ...{ created: toIso(row.created_at), expires: toIso(row.expires_at) },
      ...{ address: row.address, user_agent: row.user_agent },
    })),
    identities: identities.map((row) => ({
      ...{ issuer: row.issuer, subject: row.subject },
      ...{ created: toIso(row.created_at), last_used: toIso(row.last_used_at) },
    })),
    mails: mails.map((row) => ({
      ...{ created: toIso(row.created_at), organization_id: row.organization_id, status: row.status },
      kind: (JSON.parse(row.content) as { kind: string }).kind,
    })),
    organizations,
  }
}

/** What an organization stores about a member. */
async function findWork(db: Database, organizationId: string, agentId: string, email: string) {
  const keys = await db
    .selectFrom('api_keys')
    .select(['id', 'name', 'role', 'created_at'])
    .where('organization_id', '=', organizationId)
    .where('created_by', '=', agentId)
    .orderBy('id', 'desc')
    .limit(MAX_ROWS)
    .execute()
  const invitations = await db
    .selectFrom('invitations')
    .select(['id', 'role', 'created_at', 'accepted_at'])
    .where('organization_id', '=', organizationId)
    .where('email', '=', email)
    .orderBy('id', 'desc')
    .limit(MAX_ROWS)
    .execute()
  const actions = await db
    .selectFrom('audit_log')
    .select(['occurred_at', 'action', 'object_id', 'address'])
    .where('organization_id', '=', organizationId)
    .where('actor_id', '=', agentId)
    .orderBy('id', 'desc')
    .limit(MAX_ROWS)
    .execute()
  return {
    api_keys: keys.map(({ created_at, ...key }) => ({ ...key, created: toIso(created_at) })),
    invitations: invitations.map(({ created_at, accepted_at, ...invitation }) => ({
      ...invitation,
      ...{ created: toIso(created_at), accepted: toIsoOrNull(accepted_at) },
    })),
    audit_log: actions.map(({ occurred_at, ...entry }) => ({ occurred: toIso(occurred_at), ...entry })),
  }
}
