import { Type } from 'typebox'
import { type ApiKey, ApiKeys, MadeApiKey, Mails, NewApiKey } from '#contract/account.ts'
import { Exactly } from '#contract/common.ts'
import { changedBy } from '../access/permit.ts'
import { insertKey, revokeKey } from '../access/store.ts'
import { Answers, NoContent, Params, type Routes } from '../http/routes.ts'
import { parseTime } from '../http/times.ts'
import { withRoom } from '../organization/room.ts'
import type { Doors } from '../outside.ts'
import { forbidden, invalid } from '../problem.ts'
import { getApiKey, listApiKeys, listMails } from './account-keys-store.ts'

/** API keys are made by people, not by keys; and what was written to people of the organization. */
export function accountKeyRoutes(doors: Doors): Routes {
  const { db, clock } = doors
  return async (app) => {
    changedBy(app, 'admin')
    app.addHook('onRequest', async ({ caller }) => {
      if (caller.personId === undefined) throw forbidden('This is for people; sign in to the dashboard.')
    })

    app.get(
      '/dashboard/api/keys',
      { schema: { querystring: OfOrganization, response: Answers(200, ApiKeys) } },
      async ({ caller }) => ({
        data: await listApiKeys(db, caller.organizationId),
      }),
    )

    app.post(
      '/dashboard/api/keys',
      { schema: { body: NewApiKey, response: Answers(201, MadeApiKey) } },
      async ({ body, caller }, reply) => {
        const { organizationId, actor: createdBy, role } = caller
        if (body.role === 'admin' && role !== 'owner') throw adminKey()
        const expiresAt = expiryOf(body.expires, clock.now())
        const given = { organizationId, name: body.name, role: body.role, createdBy }
        const { id, key } = await withRoom(doors, organizationId, 'api_keys', (transaction) =>
          insertKey(transaction, expiresAt === undefined ? given : { ...given, expiresAt }, clock.now()),
        )
        const made: ApiKey = await getApiKey(db, organizationId, id)
        return reply.code(201).send({ ...made, key })
      },
    )

    app.delete(
      '/dashboard/api/keys/:key',
      { schema: { params: Params('key'), response: Answers(204, NoContent) } },
      async ({ params, caller }, reply) => {
        await revokeKey(db, params.key, clock.now(), caller.organizationId)
        return reply.code(204).send(null)
      },
    )

    app.get(
      '/dashboard/api/mails',
      { config: { readBy: 'admin' }, schema: { querystring: OfOrganization, response: Answers(200, Mails) } },
      async ({ caller }) => ({ data: await listMails(doors, caller.organizationId) }),
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
  throw invalid({ expires: 'must be an instant in the future, like 2027-01-31T12:00:00.000Z.' })
}

const adminKey = () =>
  forbidden('Only owners make keys with the role admin, because such a key may do all that an owner may.')
