import { Type } from 'typebox'
import { OrganizationQuery, organizationField, PageOf, StrictObject } from '#contract/common.ts'
import {
  Acceptance,
  ImportPlan,
  ImportRequest,
  ImportUpdated,
  ImportUpdates,
  KnownLabels,
  KnownLabelsQuery,
  Lookup,
  LookupRequest,
  Overview,
  TIMELINE_RANGES,
  Timeline,
  ValueDifference,
} from '#contract/dashboard.ts'
import { Event, EventQuery } from '#contract/events.ts'
import { Include, MonitorResponse } from '#contract/monitors.ts'
import { lookUp } from '../checks/lookup.ts'
import { forOrganization } from '../checks/monitor-query.ts'
import type { Deps } from '../deps.ts'
import { eventsCsv } from '../events/events-csv.ts'
import { listEvents } from '../events/store.ts'
import { readTimeline } from '../events/timeline-store.ts'
import type { AccessDeps } from '../http/auth-and-rate-limit.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { Params, plainJsonSerializer, Responses, type Routes } from '../http/routes.ts'
import type { LiveStreams } from '../live/streams.ts'
import { acceptCurrent, differenceOf } from '../monitors/acceptance.ts'
import { planImport } from '../monitors/import/import-plan.ts'
import { updateExpectations } from '../monitors/import/updates.ts'
import { knownLabels } from '../monitors/known-labels.ts'
import { parseInclude, toMonitor } from '../monitors/monitor.ts'
import { getMonitor } from '../monitors/store.ts'
import { readOverview, shareRuns } from '../overview/overview.ts'
import { Problem } from '../problem.ts'
import { withWaits } from '../waits/waits.ts'
import { webhookLogRoutes } from '../webhooks/webhook-log.ts'

/** Enough for 1,048,576 characters, most of them escaped in JSON. */
const IMPORT_BYTES = 4 * 1024 * 1024

/** Routes of the dashboard under `/dashboard/api`, with the API's authentication, rate limits and errors. Not in the OpenAPI document. */
export function dashboardRoutes(deps: Deps, live: LiveStreams, identify: AccessDeps['identify']): Routes {
  const shared = shareRuns<Overview>(deps.clock)
  const links = { keyring: deps.keyring, baseUrl: deps.config.baseUrl }
  return async (app) => {
    app.addHook('onRoute', (route) => {
      route.schema = { ...route.schema, hide: true }
    })

    await app.register(webhookLogRoutes(deps))

    app.get(
      '/dashboard/api/live',
      { ...withoutHead, schema: { querystring: OrganizationQuery } },
      async (request, reply) => {
        const { organizationId, userId } = request.context
        const isAllowed = async () => (await identify(request))?.organizationId === organizationId
        const stream = live.open({
          organizationId,
          who: userId ?? `keys of ${organizationId}`,
          isAllowed: () => unlessUnavailable(isAllowed),
        })
        // A proxy that buffers responses would delay the events.
        reply
          .headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
          .type('text/event-stream; charset=utf-8')
        return reply.send(stream)
      },
    )

    app.get(
      '/dashboard/api/overview',
      { schema: { querystring: OrganizationQuery, response: Responses(200, Overview) } },
      ({ context }) =>
        shared(context.organizationId, () => deps.readList(context, (db) => readOverview({ ...deps, db }, context))),
    )

    app.post(
      '/dashboard/api/lookup',
      { config: { writesNothing: true }, schema: { body: LookupRequest, response: Responses(200, Lookup) } },
      ({ body, context }) => lookUp(forOrganization(deps, context.organizationId), body),
    )

    app.post(
      '/dashboard/api/import',
      {
        bodyLimit: IMPORT_BYTES,
        config: { writesNothing: true },
        schema: { body: ImportRequest, response: Responses(200, ImportPlan) },
      },
      ({ body, context }) => planImport(forOrganization(deps, context.organizationId), context, body),
    )

    app.post(
      '/dashboard/api/import/updates',
      { bodyLimit: IMPORT_BYTES, schema: { body: ImportUpdates, response: Responses(200, ImportUpdated) } },
      ({ body, context }) => updateExpectations(deps.db, context, body),
    )

    app.get(
      '/dashboard/api/labels',
      { schema: { querystring: KnownLabelsQuery, response: Responses(200, KnownLabels) } },
      ({ query, context }) => deps.readList(context, async (db) => ({ labels: await knownLabels(db, context, query) })),
    )

    app.get(
      '/dashboard/api/events',
      { schema: { querystring: EventsQuery, response: Responses(200, PageOf(Event)) } },
      ({ query, context }) => {
        const { organization: _, is_change: isChange = false, ...wanted } = query
        return deps.readList(context, (db) => listEvents(db, deps.keyring, context, wanted, { isChange }))
      },
    )

    app.get(
      '/dashboard/api/events.csv',
      { ...withoutHead, schema: { querystring: EventsExport } },
      async ({ query, context }, reply) => {
        const { organization: _, ...wanted } = query
        const csv = await eventsCsv(deps, context, wanted)
        reply.type('text/csv; charset=utf-8').header('content-disposition', 'attachment; filename="events.csv"')
        return reply.send(csv)
      },
    )

    app.get(
      '/dashboard/api/monitors/:monitor/timeline',
      { schema: { params: Params('monitor'), querystring: TimelineQuery, response: Responses(200, Timeline) } },
      ({ params, query, context }) =>
        deps.readList(context, (db) => readTimeline({ ...deps, db }, context, params.monitor, query.range)),
    )

    app.get(
      '/dashboard/api/monitors/:monitor/difference',
      {
        schema: {
          params: Params('monitor'),
          querystring: OrganizationQuery,
          response: Responses(200, ValueDifference),
        },
      },
      ({ params, context }) => differenceOf(deps.db, context, params.monitor),
    )

    app.post(
      '/dashboard/api/accept/:monitor',
      {
        serializerCompiler: plainJsonSerializer,
        schema: {
          params: Params('monitor'),
          querystring: Type.Object({ include: Include }, { additionalProperties: false }),
          body: Type.Union([Acceptance, Type.Null()]),
          response: Responses(200, MonitorResponse),
        },
      },
      (request, reply) => {
        const { params, query, body, context } = request
        const included = parseInclude(query.include)
        return runIdempotent(request, reply, deps.db, {
          execute: (db) => acceptCurrent(db, context, { ...params, ...body }),
          respond: async (db) => {
            const row = await getMonitor(db, context, params.monitor, included)
            const [shown] = included.wait ? await withWaits(db, links, context, [row]) : [row]
            return toMonitor(shown!, included)
          },
        })
      },
    )
  }
}

/** A HEAD request would open a stream that is never closed. */
const withoutHead = { exposeHeadRoute: false }

/** A refusal ends a stream. An unavailable database does not. */
async function unlessUnavailable(isAllowed: () => Promise<boolean>): Promise<boolean> {
  try {
    return await isAllowed()
  } catch (error) {
    return !(error instanceof Problem)
  }
}

const changesField = { is_change: Type.Optional(Type.Boolean({ description: 'Without first results.' })) }
const EventsQuery = StrictObject({
  ...organizationField,
  ...changesField,
  ...Type.Omit(EventQuery, ['after_id', 'order_by', 'include']).properties,
})
const EventsExport = StrictObject({
  ...organizationField,
  ...changesField,
  ...Type.Omit(EventQuery, ['after', 'before', 'limit', 'include']).properties,
})
const TimelineQuery = StrictObject({ ...organizationField, range: Type.Enum(TIMELINE_RANGES, { default: '24h' }) })
