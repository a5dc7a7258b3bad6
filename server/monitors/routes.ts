import { type Static, Type } from 'typebox'
import { firstExample, PageOf } from '#contract/common.ts'
import { CountsQuery, IncidentMonitorQuery, MonitorCounts, MonitorQuery } from '#contract/monitor-list.ts'
import {
  GroupMonitorsChange,
  Include,
  MonitorChange,
  MonitorResponse,
  NewMonitor,
  NewMonitors,
} from '#contract/monitors.ts'
import type { Tenant } from '../context.ts'
import type { Deps } from '../deps.ts'
import { getGroupRow, unknownGroupErrors } from '../groups/resolve.ts'
import { runIdempotent } from '../http/idempotency.ts'
import {
  NoContent,
  Params,
  plainJsonSerializer,
  preserializedJson,
  Responses,
  type Routes,
  tagRoutes,
} from '../http/routes.ts'
import { schemaErrors } from '../http/validation.ts'
import { findQuota, frequencyLimiter } from '../organization/quota.ts'
import { invalid } from '../problem.ts'
import { withWaits } from '../waits/waits.ts'
import { deleteMonitor } from './delete.ts'
import { insertMissingMonitors, insertMonitors, prepareMonitor } from './insert.ts'
import { countMonitors } from './list/counts.ts'
import { checkIncident, listMonitorsAsJson } from './list/list.ts'
import { type MonitorResponseRow, parseInclude, toMonitor } from './monitor.ts'
import { monitorResponse } from './monitor-response.ts'
import { bulkField, bulkGroups, bulkItem, parseMonitors } from './parse-monitor.ts'
import { checkNow, getMonitor, getMonitors } from './store.ts'
import { updateMonitor } from './update.ts'
import { updateGroupMonitors } from './update-group-monitors.ts'
import { upsertMonitors } from './upsert.ts'

const MonitorPage = PageOf(MonitorResponse)
const MonitorList = Type.Array(MonitorResponse, { title: 'MonitorList', examples: [[firstExample(MonitorResponse)]] })
const IncludeQuery = Type.Object({ include: Include }, { additionalProperties: false })
const BULK_BYTES = 16 * 1024 * 1024

type Database = Deps['db']

export function monitorRoutes(deps: Deps): Routes {
  const { db, clock, keyring } = deps
  const links = { keyring, baseUrl: deps.config.baseUrl }
  const waits = { keyring, maxWaiting: deps.config.maxWaiting }
  return async (app) => {
    tagRoutes(app, 'Monitors')
    app.setSerializerCompiler(plainJsonSerializer)
    const querystring = IncludeQuery
    const monitor = { params: Params('monitor'), querystring }
    // The handlers report the errors of the schema together with their own.
    const attachValidation = true

    const listPage = async (db: Database, tenant: Tenant, { include, ...query }: MonitorQuery, groupId?: string) => {
      const list = { query, included: parseInclude(include), groupId }
      return preserializedJson<Static<typeof MonitorPage>>(await listMonitorsAsJson(db, links, tenant, list))
    }
    const readMonitor = async (
      db: Database,
      tenant: Tenant,
      id: string,
      include: string | undefined,
      hasWait = false,
    ) => {
      const included = parseInclude(include)
      const row = await getMonitor(db, tenant, id, included)
      return await monitorResponse(db, links, tenant, row, included, hasWait)
    }

    app.get(
      '/monitors',
      {
        schema: {
          operationId: 'listMonitors',
          summary: 'List monitors',
          querystring: MonitorQuery,
          response: Responses(200, MonitorPage),
        },
      },
      ({ query, context }) => deps.readList(context, (db) => listPage(db, context, query)),
    )

    app.get(
      '/monitors/counts',
      {
        schema: {
          operationId: 'countMonitors',
          summary: 'Count monitors by state',
          description:
            'Takes the filters of `GET /monitors`. The numbers are exact without a filter, for `state` and `is_active`, for one group, and if one of the filters alone leaves fewer than 5,000 monitors. Otherwise `is_partial` is true and they are lower bounds.',
          querystring: CountsQuery,
          response: Responses(200, MonitorCounts),
        },
      },
      ({ query, context }) => deps.readList(context, (db) => countMonitors(db, context, query)),
    )

    app.get(
      '/groups/:group/monitors',
      {
        schema: {
          operationId: 'listGroupMonitors',
          summary: 'List the monitors of a group',
          tags: ['Groups'],
          params: Params('group'),
          querystring: MonitorQuery,
          response: Responses(200, MonitorPage),
        },
      },
      ({ params, query, context }) =>
        deps.readList(context, async (db) => {
          const { id } = await getGroupRow(db, context, params.group)
          return await listPage(db, context, query, id)
        }),
    )

    app.get(
      '/incidents/:incident/monitors',
      {
        schema: {
          operationId: 'listIncidentMonitors',
          summary: 'List the monitors of an incident',
          description:
            'The monitors that failed in the incident, also those that have recovered. Deleted monitors are left out.',
          tags: ['Alerts'],
          params: Params('incident'),
          querystring: IncidentMonitorQuery,
          response: Responses(200, MonitorPage),
        },
      },
      ({ params, query, context }) =>
        deps.readList(context, async (db) => {
          await checkIncident(db, context, params.incident)
          return await listPage(db, context, { ...query, incident: params.incident })
        }),
    )

    app.patch(
      '/groups/:group/monitors',
      {
        schema: {
          operationId: 'updateGroupMonitors',
          summary: 'Update all monitors of a group',
          tags: ['Groups'],
          description: 'Updates all monitors of the group in one transaction. Fields you leave out keep their values.',
          params: Params('group'),
          body: GroupMonitorsChange,
          response: Responses(204, NoContent),
        },
      },
      async ({ params, body, context }, reply) => {
        const group = await getGroupRow(db, context, params.group)
        const pace = await frequencyLimiter(deps, context)
        pace(body.frequency)
        await updateGroupMonitors(db, context, group, body)
        return reply.code(204).send(null)
      },
    )

    app.post(
      '/monitors',
      {
        attachValidation,
        schema: {
          operationId: 'createMonitor',
          summary: 'Create a monitor',
          description: 'Zonewatch checks a new monitor immediately. Two monitors may check the same record.',
          querystring,
          body: NewMonitor,
          response: Responses(201, MonitorResponse),
        },
      },
      (request, reply) => {
        const { context } = request
        const included = parseInclude(request.query.include)
        return runIdempotent(request, reply, db, {
          prepare: () => prepareMonitor(deps, context, request.body, schemaErrors(request)),
          execute: async (db, { draft, quota }) => {
            const [created] = await insertMonitors(db, context, [draft], { quota, waits })
            return created!
          },
          respond: (db, created) => {
            reply.code(201).header('location', `/monitors/${created.id}`)
            return monitorResponse(db, links, context, created, included, created.waiting !== undefined)
          },
        })
      },
    )

    app.post(
      '/monitors/bulk',
      {
        attachValidation,
        bodyLimit: BULK_BYTES,
        schema: {
          operationId: 'createMonitorsInBulk',
          summary: 'Create many monitors at once',
          description:
            'Creates all monitors or none. If one item is invalid, no monitor is created, and `errors` has every error at `monitors.<i>.<field>`. `group`, `notify`, `frequency` and `resolution` next to the list are defaults for its items. Returns the created monitors in the order of the request, and with `on_conflict` the existing or changed ones too.',
          querystring,
          body: NewMonitors,
          response: { ...Responses(201, MonitorList), 200: MonitorList },
        },
      },
      (request, reply) => {
        const { body, context } = request
        const included = parseInclude(request.query.include)
        let createdRows: MonitorResponseRow[] | undefined
        return runIdempotent(request, reply, db, {
          prepare: async () => {
            const invalidFields = schemaErrors(request)
            const { drafts, errors } = await parseMonitors(body)
            if (invalidFields || Object.keys(errors).length > 0) {
              const groupErrors = await unknownGroupErrors(db, context, bulkGroups(body))
              throw invalid({ ...errors, ...groupErrors, ...invalidFields })
            }
            const pace = await frequencyLimiter(deps, context)
            for (const [index, draft] of drafts.entries()) draft.frequency = pace(bulkItem(body, index).frequency)
            return { drafts, quota: await findQuota(deps, context, 'monitors') }
          },
          execute: async (db, { drafts, quota }): Promise<string[] | { ids: string[]; created: number }> => {
            const fieldAt = (index: number, field: string) => bulkField(body, index, field)
            if (body.on_conflict === 'update') {
              const items = drafts.map((draft, index) => {
                const change = bulkItem(body, index)
                return { externalId: change.external_id!, change, draft }
              })
              return await upsertMonitors(db, context, { items, fieldAt, quota, waits })
            }
            const groupFields = drafts.map((_, index) => fieldAt(index, 'group'))
            const options = { itemFields: 'monitors', groupFields, quota, waits }
            if (body.on_conflict === 'ignore') {
              const { ids, created } = await insertMissingMonitors(db, context, drafts, options)
              return { ids, created: created.length }
            }
            createdRows = body.ignore
              ? (await insertMissingMonitors(db, context, drafts, options)).created
              : await insertMonitors(db, context, drafts, options)
            return createdRows.map(({ id }) => id)
          },
          respond: async (db, result) => {
            const { ids, created } = Array.isArray(result) ? { ids: result, created: undefined } : result
            reply.code(created === 0 ? 200 : 201)
            const rows = createdRows ?? (await getMonitors(db, context, ids, included))
            const hasWaits = included.wait || body.monitors.some(({ until }) => until !== undefined)
            const responseRows = hasWaits ? await withWaits(db, links, context, rows) : rows
            return responseRows.map((row) => toMonitor(row, included))
          },
        })
      },
    )

    app.get(
      '/monitors/:monitor',
      {
        schema: {
          operationId: 'getMonitor',
          summary: 'Get a monitor',
          ...monitor,
          response: Responses(200, MonitorResponse),
        },
      },
      ({ params, query, context }) => readMonitor(db, context, params.monitor, query.include),
    )

    app.patch(
      '/monitors/:monitor',
      {
        attachValidation,
        config: { takesIfMatch: true },
        schema: {
          operationId: 'updateMonitor',
          summary: 'Update a monitor',
          description:
            'Fields you leave out keep their values. A new name or record type clears `current_value`. A new name, record type or expectation sets `state` to UNSET and starts a check.',
          ...monitor,
          body: MonitorChange,
          response: Responses(200, MonitorResponse),
        },
      },
      async (request) => {
        const { params, body, context } = request
        const errors = schemaErrors(request)
        if (!errors) (await frequencyLimiter(deps, context))(body.frequency)
        await updateMonitor(db, context, params.monitor, body, { schemaErrors: errors, match: request.match, waits })
        return await readMonitor(db, context, params.monitor, request.query.include, body.until !== undefined)
      },
    )

    for (const [verb, is_active, summary, description] of [
      ['enable', true, 'Enable a monitor', 'Starts a check and resumes the schedule.'],
      [
        'disable',
        false,
        'Disable a monitor',
        'Stops checks and deliveries of new events. The configuration and history are kept.',
      ],
    ] as const) {
      app.post(
        `/monitors/:monitor/${verb}`,
        {
          schema: {
            operationId: `${verb}Monitor`,
            summary,
            description,
            ...monitor,
            response: Responses(200, MonitorResponse),
          },
        },
        (request, reply) => {
          const { params, query, context } = request
          return runIdempotent(request, reply, db, {
            execute: (db) => updateMonitor(db, context, params.monitor, { is_active }),
            respond: (db) => readMonitor(db, context, params.monitor, query.include),
          })
        },
      )
    }

    app.post(
      '/monitors/:monitor/check',
      {
        schema: {
          operationId: 'checkMonitor',
          summary: 'Check a monitor now',
          description:
            'Starts a check outside the schedule. The response shows the monitor before the check: read it again until `last_checked` has changed. Returns 409 if the monitor is disabled.',
          ...monitor,
          response: Responses(202, MonitorResponse),
        },
      },
      (request, reply) => {
        const { params, query, context } = request
        return runIdempotent(request, reply, db, {
          execute: (db) => checkNow(db, context, params.monitor, clock.now()),
          respond: (db) => {
            reply.code(202)
            return readMonitor(db, context, params.monitor, query.include)
          },
        })
      },
    )

    app.delete(
      '/monitors/:monitor',
      {
        config: { takesIfMatch: true },
        schema: {
          operationId: 'deleteMonitor',
          summary: 'Delete a monitor',
          description: 'Deletes the monitor and its events. Webhook requests that already exist are still delivered.',
          params: Params('monitor'),
          response: Responses(204, NoContent),
        },
      },
      async ({ params, context, match }, reply) => {
        await deleteMonitor(db, context, params.monitor, match)
        return reply.code(204).send(null)
      },
    )
  }
}
