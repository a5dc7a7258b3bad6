import { Type } from 'typebox'
import { type ApiKey, ApiKeys, MadeApiKey, Mails, NewApiKey } from '#contract/account.ts'
import type { AgentRole } from '#contract/agents.ts'
import { Exactly } from '#contract/common.ts'
import { fieldError } from '#contract/field-errors.ts'
import { inTransaction } from '../database/database.ts'
import { lockOrganization } from '../database/organization-lock.ts'
import type { Deps } from '../deps.ts'
import { once } from '../http/idempotency.ts'
import { changedBy } from '../http/permit.ts'
import { Answers, NoContent, Params, type Routes } from '../http/routes.ts'
import { parseTime } from '../http/times.ts'
import { withinQuota } from '../organization/quota.ts'
import { forbidden, invalid } from '../problem.ts'
import { getApiKey, listApiKeys, listMails } from './api-key-store.ts'
import { insertKey, type KeyRole, revokeKey } from './api-keys.ts'
import { roleOfActor } from './memberships.ts'

/** API keys are made by people, not by keys; and what was written to people of the organization. */
export function accountKeyRoutes(deps: Deps): Routes {
  const { db } = deps
  return async (app) => {
    changedBy(app, 'admin')
    app.addHook('onRequest', async ({ context }) => {
      if (context.personId === undefined)
        throw forbidden('API keys cannot use this endpoint. Sign in to the dashboard.')
    })

    app.get(
      '/dashboard/api/keys',
      { schema: { querystring: OfOrganization, response: Answers(200, ApiKeys) } },
      async ({ context }) => ({
        data: await listApiKeys(db, context),
      }),
    )

    app.post(
      '/dashboard/api/keys',
      { schema: { body: NewApiKey, response: Answers(201, MadeApiKey) } },
      async (request, reply) => {
        const { body, context } = request
        const { organizationId, now } = context
        const createdBy = context.actor.id
        const expiresAt = expiryOf(body.expires, now)
        const given = { name: body.name, role: body.role, createdBy, ...(expiresAt !== undefined && { expiresAt }) }
        return await once(request, reply, db, {
          effect: (db) =>
            withinQuota({ ...deps, db }, context, 'api_keys', (database) =>
              inTransaction(database, async (transaction) => {
                await lockOrganization(transaction, organizationId)
                const role = await roleOfActor(transaction, context, createdBy)
                if (role !== 'admin' && role !== 'owner') throw forbidden('You can no longer create API keys.')
                refuseAdminKey(role, body)
                return await insertKey(transaction, context, given)
              }),
            ),
          answer: async (db, { id, key }) => {
            const made: ApiKey = await getApiKey(db, context, id)
            reply.code(201)
            return { ...made, key }
          },
        })
      },
    )

    app.delete(
      '/dashboard/api/keys/:key',
      { schema: { params: Params('key'), response: Answers(204, NoContent) } },
      async ({ params, context }, reply) => {
        refuseAdminKey(context.role, await getApiKey(db, context, params.key))
        await revokeKey(db, context, params.key)
        return reply.code(204).send(null)
      },
    )

    app.get(
      '/dashboard/api/mails',
      { config: { readBy: 'admin' }, schema: { querystring: OfOrganization, response: Answers(200, Mails) } },
      async ({ context }) => ({ data: await listMails(deps, context) }),
    )
  }
}

/** Names the organization where the header cannot be set. */
const OfOrganization = Exactly({ organization: Type.Optional(Type.String({ maxLength: 40 })) })

/** Throws 400 for what is not in the future. */
function expiryOf(text: string | null | undefined, now: number): number | undefined {
  if (text === null || text === undefined) return undefined
  const instant = parseTime('expires', text)
  if (instant > now) return instant
  throw invalid({ expires: fieldError('not_in_future') })
}

/** Throws 403. */
function refuseAdminKey(by: AgentRole, { role }: { role: KeyRole }): void {
  if (role !== 'admin' || by === 'owner') return
  throw forbidden('Only owners can create and revoke keys with the role admin.')
}
