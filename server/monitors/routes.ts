import { type Static, Type } from 'typebox'
import { exampleOf, PageOf } from '#contract/common.ts'
import { CountsQuery, MonitorCounts, MonitorQuery } from '#contract/monitor-list.ts'
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
import { unknownGroupErrors } from '../groups/resolve.ts'
import { getGroupRow } from '../groups/store.ts'
import { once } from '../http/idempotency.ts'
import { Answers, asItIs, NoContent, Params, type Routes, written } from '../http/routes.ts'
import { schemaErrors } from '../http/validation.ts'
import { paceOf, quotaFor } from '../organization/quota.ts'
import { invalid } from '../problem.ts'
import { fieldAt, groupsNamed, itemAt, parseMonitors } from './bulk.ts'
import { countMonitors } from './counts.ts'
import { updateGroupMonitors } from './group-wide.ts'
import { insertMonitors } from './insert.ts'
import { type ListedMonitors, listMonitorsAsJson } from './list.ts'
import { type MonitorResponseRow, parseInclude, toMonitor } from './monitor.ts'
import { parseMonitor } from './parse-monitor.ts'
import { deleteMonitor } from './remove.ts'
import { checkNow, getMonitor, getMonitors } from './store.ts'
import { updateMonitor } from './update.ts'
import { upsertMonitors } from './upsert.ts'
import { monitorResponse, withWaits } from './waits.ts'

const MonitorPage = PageOf(MonitorResponse)
const MonitorList = Type.Array(MonitorResponse, { title: 'MonitorList', examples: [[exampleOf(MonitorResponse)]] })
const OneQuery = Type.Object({ include: Include }, { additionalProperties: false })
const tags = ['Monitors']
const BULK_BYTES = 16 * 1024 * 1024

export function monitorRoutes(deps: Deps): Routes {
  const { db, clock, seal } = deps
  const links = { seal, baseUrl: deps.config.baseUrl }
  return async (app) => {
    app.setSerializerCompiler(asItIs)
    const querystring = OneQuery
    const one = { params: Params('monitor'), querystring }
    // What the schema refuses and what only we can judge are reported together.
    const attachValidation = true

    const listed = async (db: Deps['db'], tenant: Tenant, { include, ...query }: MonitorQuery, groupId?: string) => {
      const included = parseInclude(include)
      const wanted: ListedMonitors = { query, included, ...(groupId === undefined ? {} : { groupId }) }
      return written<Static<typeof MonitorPage>>(await listMonitorsAsJson(db, links, tenant, wanted))
    }
    const shown = async (
      db: Deps['db'],
      organizationId: string,
      id: string,
      include: string | undefined,
      hasWait = false,
    ) => {
      const included = parseInclude(include)
      const row = await getMonitor(db, { organizationId }, id, included)
      return await monitorResponse(db, links, { organizationId }, row, included, hasWait)
    }

    app.get(
      '/monitors',
      {
        schema: {
          operationId: 'listMonitors',
          summary: 'List monitors',
          tags,
          querystring: MonitorQuery,
          response: Answers(200, MonitorPage),
        },
      },
      ({ query, context }) => deps.readList(context, (db) => listed(db, context, query)),
    )

    app.get(
      '/monitors/counts',
      {
        schema: {
          operationId: 'countMonitors',
          summary: 'Count monitors by state',
          tags,
          description:
            'Takes the filters of `GET /monitors`. The numbers are exact without a filter, for one group, and if one of the filters alone leaves fewer than 5,000 monitors. Otherwise `is_partial` is true and they are lower bounds.',
          querystring: CountsQuery,
          response: Answers(200, MonitorCounts),
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
          response: Answers(200, MonitorPage),
        },
      },
      ({ params, query, context }) =>
        deps.readList(context, async (db) => {
          const { id } = await getGroupRow(db, context, params.group)
          return await listed(db, context, query, id)
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
          response: Answers(204, NoContent),
        },
      },
      async ({ params, body, context }, reply) => {
        const group = await getGroupRow(db, context, params.group)
        const pace = await paceOf(deps, context)
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
          tags,
          description: 'Zonewatch checks a new monitor immediately. Two monitors may check the same record.',
          querystring,
          body: NewMonitor,
          response: Answers(201, MonitorResponse),
        },
      },
      (request, reply) => {
        const { context } = request
        const included = parseInclude(request.query.include)
        return once(request, reply, db, {
          prepare: async () => {
            const refused = schemaErrors(request)
            const parsed = parseMonitor(request.body)
            if (!parsed.ok || refused) {
              const unknown = await unknownGroupErrors(db, context, { group: request.body.group })
              throw invalid({ ...(parsed.ok ? {} : parsed.errors), ...unknown, ...refused })
            }
            const pace = await paceOf(deps, context)
            const draft = { ...parsed.draft, frequency: pace(request.body.frequency) }
            return { draft, quota: await quotaFor(deps, context, 'monitors') }
          },
          effect: async (db, { draft, quota }) => {
            const [made] = await insertMonitors(db, context, [draft], { quota, seal })
            return made!
          },
          answer: (db, made) => {
            reply.code(201).header('location', `/monitors/${made.id}`)
            return monitorResponse(db, links, context, made, included, made.waiting !== undefined)
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
          tags,
          description:
            'Creates all monitors or none. If one item is invalid, no monitor is created, and `errors` has every error at `monitors.<i>.<field>`. `group`, `notify` and `frequency` next to the list are defaults for its items. Returns the created monitors in the order of the request, and with `on_conflict` the existing or changed ones too.',
          querystring,
          body: NewMonitors,
          response: { ...Answers(201, MonitorList), 200: MonitorList },
        },
      },
      (request, reply) => {
        const { body, context } = request
        const included = parseInclude(request.query.include)
        let rows: MonitorResponseRow[] | undefined
        return once(request, reply, db, {
          prepare: async () => {
            const refused = schemaErrors(request)
            const { drafts, errors } = await parseMonitors(body)
            if (refused || Object.keys(errors).length > 0) {
              const unknown = await unknownGroupErrors(db, context, groupsNamed(body))
              throw invalid({ ...errors, ...unknown, ...refused })
            }
            const pace = await paceOf(deps, context)
            const paced = drafts.map((draft, place) => ({
              ...draft,
              frequency: pace(body.monitors[place]?.frequency ?? body.frequency),
            }))
            return { paced, quota: await quotaFor(deps, context, 'monitors') }
          },
          effect: async (db, { paced, quota }): Promise<string[] | { ids: string[]; created: number }> => {
            if (body.on_conflict === 'update') {
              const items = paced.map((draft, place) => {
                const given = itemAt(body, place)
                return { externalId: given.external_id!, given, draft }
              })
              return await upsertMonitors(db, context, {
                ...{ items, quota, seal },
                fieldAt: (place, field) => fieldAt(body, place, field),
              })
            }
            const ids: string[] = []
            const made = await insertMonitors(db, context, paced, {
              ignore: body.on_conflict === 'ignore' || (body.ignore ?? false),
              ids,
              itemFields: 'monitors',
              groupFields: paced.map((_, place) => fieldAt(body, place, 'group')),
              quota,
              seal,
            })
            if (body.on_conflict !== undefined) return { ids, created: made.length }
            rows = made
            return made.map(({ id }) => id)
          },
          answer: async (db, made) => {
            const { ids, created } = Array.isArray(made) ? { ids: made, created: undefined } : made
            reply.code(created === 0 ? 200 : 201)
            const shown = rows ?? (await getMonitors(db, context, ids, included))
            const hasWaits = included.wait || body.monitors.some(({ until }) => until !== undefined)
            const withTheirs = hasWaits ? await withWaits(db, links, context, shown) : shown
            return withTheirs.map((row) => toMonitor(row, included))
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
          tags,
          ...one,
          response: Answers(200, MonitorResponse),
        },
      },
      ({ params, query, context }) => shown(db, context.organizationId, params.monitor, query.include),
    )

    app.patch(
      '/monitors/:monitor',
      {
        attachValidation,
        config: { takesIfMatch: true },
        schema: {
          operationId: 'updateMonitor',
          summary: 'Update a monitor',
          tags,
          description:
            'Fields you leave out keep their values. A new name or record type clears `current_value`. A new name, record type or expectation sets `state` to UNSET and starts a check.',
          ...one,
          body: MonitorChange,
          response: Answers(200, MonitorResponse),
        },
      },
      async (request) => {
        const { params, body, context } = request
        const refused = schemaErrors(request)
        if (!refused) (await paceOf(deps, context))(body.frequency)
        const { match } = request
        await updateMonitor(db, context, params.monitor, body, { refused, match, seal })
        const { include } = request.query
        return await shown(db, context.organizationId, params.monitor, include, body.until !== undefined)
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
            tags,
            description,
            ...one,
            response: Answers(200, MonitorResponse),
          },
        },
        (request, reply) => {
          const { params, query, context } = request
          return once(request, reply, db, {
            effect: (db) => updateMonitor(db, context, params.monitor, { is_active }),
            answer: (db) => shown(db, context.organizationId, params.monitor, query.include),
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
          tags,
          description:
            'Starts a check outside the schedule. The response shows the monitor before the check: read it again until `last_checked` has changed. Returns 409 if the monitor is disabled.',
          ...one,
          response: Answers(202, MonitorResponse),
        },
      },
      (request, reply) => {
        const { params, query, context } = request
        return once(request, reply, db, {
          effect: (db) => checkNow(db, context, params.monitor, clock.now()),
          answer: (db) => {
            reply.code(202)
            return shown(db, context.organizationId, params.monitor, query.include)
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
          tags,
          description: 'Deletes the monitor and its events. Webhook requests that already exist are still delivered.',
          params: Params('monitor'),
          response: Answers(204, NoContent),
        },
      },
      async ({ params, context, match }, reply) => {
        await deleteMonitor(db, context, params.monitor, match)
        return reply.code(204).send(null)
      },
    )
  }
}
