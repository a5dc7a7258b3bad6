import type { FastifyRequest } from 'fastify'
import { PageOf } from '#contract/common.ts'
import { MAX_VIEWS, NewView, View, ViewChange, ViewQuery } from '#contract/views.ts'
import type { Deps } from '../deps.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { NoContent, Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { schemaErrors } from '../http/validation.ts'
import { filterErrors } from '../monitors/list/filter.ts'
import { throwIfInvalid } from '../problem.ts'
import { deleteView, getView, insertView, listViews, updateView } from './store.ts'

const params = Params('view')
const attachValidation = true
const takesIfMatch = { takesIfMatch: true }

/** Saved lists of monitors, shared with the team. */
export function viewRoutes({ db, keyring }: Deps): Routes {
  // The filter can be parsed only if the schema accepts it.
  const validateBody = async (request: FastifyRequest) => {
    const errors = schemaErrors(request)
    const { filter } = request.body as ViewChange
    throwIfInvalid(errors ?? (await filterErrors(db, request.context, filter)))
  }
  return async (app) => {
    tagRoutes(app, 'Views')
    const list = {
      operationId: 'listViews',
      summary: 'List views',
      querystring: ViewQuery,
      response: Responses(200, PageOf(View)),
    }
    app.get('/views', { schema: list }, ({ query, context }) => listViews(db, keyring, context, query))

    const create = {
      operationId: 'createView',
      summary: 'Create a view',
      description: `Saves a list of monitors under a name: filters, order, columns and density. An organization has at most ${MAX_VIEWS} views.`,
      body: NewView,
      response: Responses(201, View),
    }
    app.post('/views', { attachValidation, schema: create }, (request, reply) => {
      const { body, context } = request
      return runIdempotent(request, reply, db, {
        prepare: () => validateBody(request),
        execute: (db) => insertView(db, context, body),
        respond: (db, id) => {
          reply.code(201).header('location', `/views/${id}`)
          return getView(db, context, id)
        },
      })
    })

    const read = { operationId: 'getView', summary: 'Get a view', params, response: Responses(200, View) }
    app.get('/views/:view', { schema: read }, ({ params, context }) => getView(db, context, params.view))

    const change = {
      operationId: 'updateView',
      summary: 'Update a view',
      description: 'Fields you leave out keep their values. `filter` replaces all filters.',
      params,
      body: ViewChange,
      response: Responses(200, View),
    }
    app.patch('/views/:view', { attachValidation, config: takesIfMatch, schema: change }, async (request) => {
      const { params, body, context, match } = request
      await validateBody(request)
      await updateView(db, context, { id: params.view, change: body as ViewChange, match })
      return await getView(db, context, params.view)
    })

    const remove = {
      operationId: 'deleteView',
      summary: 'Delete a view',
      description: 'Its monitors stay.',
      params,
      response: Responses(204, NoContent),
    }
    app.delete('/views/:view', { config: takesIfMatch, schema: remove }, async ({ params, context, match }, reply) => {
      await deleteView(db, context, params.view, match)
      return reply.code(204).send(null)
    })
  }
}
