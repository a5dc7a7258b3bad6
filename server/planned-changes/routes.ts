import { PageOf } from '#contract/common.ts'
import {
  NewPlannedChange,
  PlannedChange,
  PlannedChangeChange,
  PlannedChangeCounts,
  PlannedChangeCountsQuery,
  PlannedChangeQuery,
} from '#contract/planned-changes.ts'
import type { Deps } from '../deps.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { NoContent, Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { schemaErrors } from '../http/validation.ts'
import { countChanges } from './many.ts'
import { deleteChange, getChange, insertChange, listChanges, updateChange } from './store.ts'

const attachValidation = true
const takesIfMatch = { takesIfMatch: true }

export function plannedChangeRoutes({ db, keyring }: Deps): Routes {
  const params = Params('change')
  return async (app) => {
    tagRoutes(app, 'Monitors')
    const list = {
      operationId: 'listPlannedChanges',
      summary: 'List planned changes',
      querystring: PlannedChangeQuery,
      response: Responses(200, PageOf(PlannedChange)),
    }
    app.get('/planned-changes', { schema: list }, ({ query, context }) => listChanges(db, keyring, context, query))

    const counts = {
      operationId: 'countPlannedChanges',
      summary: 'Count planned changes by state',
      description: 'With `job_id`, the progress of the changes that a job with the action `plan` made.',
      querystring: PlannedChangeCountsQuery,
      response: Responses(200, PlannedChangeCounts),
    }
    app.get('/planned-changes/counts', { schema: counts }, ({ query, context }) =>
      countChanges(db, context, query.job_id),
    )

    const create = {
      operationId: 'createPlannedChange',
      summary: 'Plan a change',
      description:
        'Within the period, the old values, the new ones and a mix of both are VALID. When every server answers the new values, or the period ends, the new values become `expected_value`. Returns 409 if the monitor already has an open planned change.',
      body: NewPlannedChange,
      response: Responses(201, PlannedChange),
    }
    app.post('/planned-changes', { attachValidation, schema: create }, (request, reply) => {
      const { body, context } = request
      return runIdempotent(request, reply, db, {
        execute: (db) => insertChange(db, context, body, schemaErrors(request)),
        respond: (db, id) => {
          reply.code(201).header('location', `/planned-changes/${id}`)
          return getChange(db, context, id)
        },
      })
    })

    const read = {
      operationId: 'getPlannedChange',
      summary: 'Get a planned change',
      params,
      response: Responses(200, PlannedChange),
    }
    app.get('/planned-changes/:change', { schema: read }, ({ params, context }) =>
      getChange(db, context, params.change),
    )

    const change = {
      operationId: 'updatePlannedChange',
      summary: 'Update a planned change',
      description: 'Fields you leave out keep their values. Returns 409 for a change that is closed.',
      params,
      body: PlannedChangeChange,
      response: Responses(200, PlannedChange),
    }
    app.patch(
      '/planned-changes/:change',
      { attachValidation, config: takesIfMatch, schema: change },
      async (request) => {
        const { params, body, context, match } = request
        await updateChange(db, context, params.change, body, { schemaErrors: schemaErrors(request), match })
        return await getChange(db, context, params.change)
      },
    )

    const remove = {
      operationId: 'deletePlannedChange',
      summary: 'Delete a planned change',
      description: 'Cancels the change if it is open: the monitor expects the old values again and is checked at once.',
      params,
      response: Responses(204, NoContent),
    }
    app.delete(
      '/planned-changes/:change',
      { config: takesIfMatch, schema: remove },
      async ({ params, context, match }, reply) => {
        await deleteChange(db, context, params.change, match)
        return reply.code(204).send(null)
      },
    )
  }
}
