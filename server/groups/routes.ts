import type { FastifyRequest } from 'fastify'
import { PageOf, StrictObject } from '#contract/common.ts'
import { GroupChange, GroupInclude, GroupQuery, GroupResponse, NewGroup } from '#contract/groups.ts'
import type { Deps } from '../deps.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { schemaErrors } from '../http/validation.ts'
import { throwIfInvalid } from '../problem.ts'
import { metadataKeyErrors } from './labels.ts'
import { getGroupRow } from './resolve.ts'
import { getGroup, insertGroup, listGroups, parseGroupInclude, unknownWebhookErrors, updateGroup } from './store.ts'

/** Paths name a group by its id or slug. `monitors/group-deletion.ts` deletes groups. */
export function groupRoutes(deps: Deps): Routes {
  const { db, keyring, config } = deps
  return async (app) => {
    tagRoutes(app, 'Groups')
    const params = Params('group')
    const querystring = StrictObject({ include: GroupInclude })
    // The handlers report the errors of the schema together with their own.
    const attachValidation = true
    const validateBody = async (request: FastifyRequest) => {
      const errors = schemaErrors(request)
      const { webhooks, metadata } = request.body as GroupChange
      const webhookErrors = await unknownWebhookErrors(db, request.context, webhooks)
      throwIfInvalid({ ...webhookErrors, ...metadataKeyErrors(metadata), ...errors })
    }

    app.get(
      '/groups',
      {
        schema: {
          operationId: 'listGroups',
          summary: 'List groups',
          querystring: GroupQuery,
          response: Responses(200, PageOf(GroupResponse)),
        },
      },
      ({ query, context }) => deps.readList(context, (db) => listGroups(db, keyring, context, query)),
    )

    app.post(
      '/groups',
      {
        attachValidation,
        schema: {
          operationId: 'createGroup',
          summary: 'Create a group',
          description: 'If you leave out `slug`, it is derived from the name. Returns 409 if the slug is taken.',
          querystring,
          body: NewGroup,
          response: Responses(201, GroupResponse),
        },
      },
      (request, reply) => {
        const { body, context } = request
        const included = parseGroupInclude(request.query.include)
        return runIdempotent(request, reply, db, {
          prepare: () => validateBody(request),
          execute: (db) => insertGroup(db, context, body, config),
          respond: (db, id) => {
            reply.code(201).header('location', `/groups/${id}`)
            return getGroup(db, context, id, included)
          },
        })
      },
    )

    app.get(
      '/groups/:group',
      {
        schema: {
          operationId: 'getGroup',
          summary: 'Get a group',
          params,
          querystring,
          response: Responses(200, GroupResponse),
        },
      },
      ({ params, query, context }) => getGroup(db, context, params.group, parseGroupInclude(query.include)),
    )

    app.patch(
      '/groups/:group',
      {
        config: { takesIfMatch: true },
        attachValidation,
        schema: {
          operationId: 'updateGroup',
          summary: 'Update a group',
          description:
            'Fields you leave out keep their values. `webhooks` is replaced as a whole. A new slug replaces the old one in paths and filters; the id stays the same.',
          params,
          querystring,
          body: GroupChange,
          response: Responses(200, GroupResponse),
        },
      },
      async (request) => {
        await validateBody(request)
        const { params, body, context } = request
        const included = parseGroupInclude(request.query.include)
        const { id } = await getGroupRow(db, context, params.group)
        await updateGroup(db, context, id, body, config, request.match)
        return await getGroup(db, context, id, included)
      },
    )
  }
}
