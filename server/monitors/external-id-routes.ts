import { Type } from 'typebox'
import { Include, MonitorResponse, MonitorUpsert } from '#contract/monitors.ts'
import type { Deps } from '../deps.ts'
import { externalIdErrors } from '../groups/labels.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { Params, plainJsonSerializer, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { schemaErrors } from '../http/validation.ts'
import { prepareMonitor } from './insert.ts'
import { parseInclude } from './monitor.ts'
import { monitorResponse } from './monitor-response.ts'
import { getIdByExternalId, getMonitor } from './store.ts'
import { upsertMonitor } from './upsert.ts'

/** Monitors by the ids that API clients gave them. */
export function externalIdRoutes(deps: Deps): Routes {
  const { db, keyring } = deps
  const links = { keyring, baseUrl: deps.config.baseUrl }
  const waits = { keyring, maxWaiting: deps.config.maxWaiting }
  return async (app) => {
    tagRoutes(app, 'Monitors')
    app.setSerializerCompiler(plainJsonSerializer)
    const querystring = Type.Object({ include: Include }, { additionalProperties: false })

    app.get(
      '/monitors/external/:external_id',
      {
        schema: {
          operationId: 'getMonitorByExternalId',
          summary: 'Get a monitor by your own id',
          params: Params('external_id'),
          querystring,
          response: Responses(200, MonitorResponse),
        },
      },
      async ({ params, query, context }) => {
        const id = await getIdByExternalId(db, context, params.external_id)
        const included = parseInclude(query.include)
        return await monitorResponse(db, links, context, await getMonitor(db, context, id, included), included)
      },
    )

    app.put(
      '/monitors/external/:external_id',
      {
        attachValidation: true,
        config: { takesIfMatch: true, takesIdempotencyKey: true },
        schema: {
          operationId: 'upsertMonitor',
          summary: 'Create or update a monitor by your own id',
          description:
            'Creates the monitor (201) if no monitor has this external id. Otherwise updates it (200): fields you leave out keep their values, and null clears `tags` and `metadata`. With `until`, a wait that runs, or whose records were found, stays as it is. Counts as a creation for the rate limits.',
          params: Params('external_id'),
          querystring,
          body: MonitorUpsert,
          response: { ...Responses(200, MonitorResponse), 201: MonitorResponse },
        },
      },
      (request, reply) => {
        const { params, body, context, match } = request
        const included = parseInclude(request.query.include)
        return runIdempotent(request, reply, db, {
          prepare: () => {
            const errors = { ...externalIdErrors(params.external_id, body.external_id), ...schemaErrors(request) }
            return prepareMonitor(deps, context, body, errors)
          },
          execute: (db, prepared) =>
            upsertMonitor(db, context, { externalId: params.external_id, change: body, ...prepared, waits }, match),
          respond: async (db, { id, isNew }) => {
            if (isNew) reply.code(201).header('location', `/monitors/${id}`)
            const row = await getMonitor(db, context, id, included)
            return await monitorResponse(db, links, context, row, included, body.until !== undefined)
          },
        })
      },
    )
  }
}
