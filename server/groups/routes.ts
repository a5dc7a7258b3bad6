import type { FastifyRequest } from 'fastify'
import { PageOf } from '#contract/common.ts'
import { Group, GroupChange, GroupQuery, NewGroup } from '#contract/groups.ts'
import type { Deps } from '../deps.ts'
import { once } from '../http/idempotency.ts'
import { Answers, NoContent, Params, type Routes } from '../http/routes.ts'
import { schemaErrors } from '../http/schema-errors.ts'
import { refuse } from '../problem.ts'
import { deleteGroup } from './remove.ts'
import { getGroup, insertGroup, listGroups, refuseUnknownWebhooks, updateGroup } from './store.ts'

const tags = ['Groups']

/** A group is named by its id or by its slug. */
export function groupRoutes(deps: Deps): Routes {
  const { db, seal, config } = deps
  return async (app) => {
    const params = Params('group')
    // What the schema refuses and what only we can judge are reported together.
    const attachValidation = true
    const refuseWrong = async (request: FastifyRequest) => {
      const refused = schemaErrors(request)
      const { webhooks } = request.body as GroupChange
      refuse({ ...(await refuseUnknownWebhooks(db, request.context, webhooks)), ...refused })
    }

    app.get(
      '/groups',
      {
        schema: {
          operationId: 'listGroups',
          summary: 'List groups',
          tags,
          querystring: GroupQuery,
          response: Answers(200, PageOf(Group)),
        },
      },
      ({ query, context }) => deps.readList(context, (db) => listGroups(db, seal, context, query)),
    )

    app.post(
      '/groups',
      {
        attachValidation,
        schema: {
          operationId: 'createGroup',
          summary: 'Create a group',
          tags,
          description: 'If you leave out `slug`, it is derived from the name. Returns 409 if the slug is taken.',
          body: NewGroup,
          response: Answers(201, Group),
        },
      },
      (request, reply) => {
        const { body, context } = request
        return once(request, reply, db, {
          prepare: () => refuseWrong(request),
          effect: (db) => insertGroup(db, context, body, config),
          answer: (db, id) => {
            reply.code(201).header('location', `/groups/${id}`)
            return getGroup(db, context, id)
          },
        })
      },
    )

    app.get(
      '/groups/:group',
      { schema: { operationId: 'getGroup', summary: 'Get a group', tags, params, response: Answers(200, Group) } },
      ({ params, context }) => getGroup(db, context, params.group),
    )

    app.patch(
      '/groups/:group',
      {
        config: { takesIfMatch: true },
        attachValidation,
        schema: {
          operationId: 'updateGroup',
          summary: 'Update a group',
          tags,
          description:
            'Fields you leave out keep their values. `webhooks` is replaced as a whole. A new slug replaces the old one in paths and filters; the id stays the same.',
          params,
          body: GroupChange,
          response: Answers(200, Group),
        },
      },
      async (request) => {
        await refuseWrong(request)
        const { params, body, context } = request
        return await updateGroup(db, context, params.group, body, config, request.match)
      },
    )

    app.delete(
      '/groups/:group',
      {
        config: { takesIfMatch: true },
        schema: {
          operationId: 'deleteGroup',
          summary: 'Delete a group',
          tags,
          description:
            'Moves the monitors of the group to the default group. The default group cannot be deleted (409).',
          params,
          response: Answers(204, NoContent),
        },
      },
      async ({ params, context, match }, reply) => {
        await deleteGroup(db, context, params.group, match)
        return reply.code(204).send(null)
      },
    )
  }
}
