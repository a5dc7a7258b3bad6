import { PageOf } from '#contract/common.ts'
import {
  MaintenanceWindow,
  MaintenanceWindowChange,
  MaintenanceWindowQuery,
  NewMaintenanceWindow,
} from '#contract/maintenance.ts'
import type { Deps } from '../deps.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { NoContent, Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { schemaErrors } from '../http/validation.ts'
import { deleteWindow, getWindow, insertWindow, listWindows, parseWindow, updateWindow } from './maintenance-store.ts'

const attachValidation = true
const takesIfMatch = { takesIfMatch: true }

export function maintenanceRoutes({ db, keyring }: Deps): Routes {
  const params = Params('window')
  return async (app) => {
    tagRoutes(app, 'Alerts')
    const list = {
      operationId: 'listMaintenanceWindows',
      summary: 'List maintenance windows',
      querystring: MaintenanceWindowQuery,
      response: Responses(200, PageOf(MaintenanceWindow)),
    }
    app.get('/maintenance-windows', { schema: list }, ({ query, context }) => listWindows(db, keyring, context, query))

    const create = {
      operationId: 'createMaintenanceWindow',
      summary: 'Create a maintenance window',
      description:
        'While the window is active, alerts of its monitors wait. Checks, events and webhooks continue. Monitors that still fail when it ends send their alerts then. A monitor must match all filters; null matches every monitor.',
      body: NewMaintenanceWindow,
      response: Responses(201, MaintenanceWindow),
    }
    app.post('/maintenance-windows', { attachValidation, schema: create }, (request, reply) => {
      const { body, context } = request
      return runIdempotent(request, reply, db, {
        prepare: () => parseWindow(db, context, body, { schemaErrors: schemaErrors(request) }),
        execute: (db, columns) => insertWindow(db, context, columns),
        respond: (db, id) => {
          reply.code(201).header('location', `/maintenance-windows/${id}`)
          return getWindow(db, context, id)
        },
      })
    })

    const read = {
      operationId: 'getMaintenanceWindow',
      summary: 'Get a maintenance window',
      params,
      response: Responses(200, MaintenanceWindow),
    }
    app.get('/maintenance-windows/:window', { schema: read }, ({ params, context }) =>
      getWindow(db, context, params.window),
    )

    const change = {
      operationId: 'updateMaintenanceWindow',
      summary: 'Update a maintenance window',
      description: 'Fields you leave out keep their values. Zonewatch decides again about alerts that wait.',
      params,
      body: MaintenanceWindowChange,
      response: Responses(200, MaintenanceWindow),
    }
    app.patch(
      '/maintenance-windows/:window',
      { attachValidation, config: takesIfMatch, schema: change },
      async (request) => {
        const { params, context, match } = request
        const change = request.body as MaintenanceWindowChange
        await updateWindow(db, context, params.window, change, { schemaErrors: schemaErrors(request), match })
        return await getWindow(db, context, params.window)
      },
    )

    const remove = {
      operationId: 'deleteMaintenanceWindow',
      summary: 'Delete a maintenance window',
      description: 'Alerts that wait for its end are sent if their monitors still fail.',
      params,
      response: Responses(204, NoContent),
    }
    app.delete(
      '/maintenance-windows/:window',
      { config: takesIfMatch, schema: remove },
      async ({ params, context, match }, reply) => {
        await deleteWindow(db, context, params.window, match)
        return reply.code(204).send(null)
      },
    )
  }
}
