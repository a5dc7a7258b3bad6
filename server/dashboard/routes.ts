import { Type } from 'typebox'
import { PageOf } from '#contract/common.ts'
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
import type { Deps } from '../deps.ts'
import { listEvents } from '../events/list.ts'
import type { AccessDeps } from '../http/auth-and-rate-limit.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { Params, plainJsonSerializer, Responses, type Routes } from '../http/routes.ts'
import { parseInclude, toMonitor } from '../monitors/monitor.ts'
import { getMonitor } from '../monitors/store.ts'
import { withWaits } from '../monitors/waits.ts'
import { Problem } from '../problem.ts'
import { acceptCurrent, differenceOf } from './acceptance.ts'
import { eventsCsv } from './events-csv.ts'
import { planImport } from './import/plan.ts'
import { updateExpectations } from './import/updates.ts'
import { knownLabels } from './known-labels.ts'
import type { LiveStreams } from './live/streams.ts'
import { lookUp } from './lookup.ts'
import { oneAtATime, readOverview } from './overview.ts'
import { readTimeline } from './timeline-store.ts'
import { webhookLogRoutes } from './webhook-log.ts'

/** A file of 1,048,576 characters, most of which may be escaped in JSON. */
const IMPORT_BYTES = 4 * 1024 * 1024

export type Watching = { live: LiveStreams; identify: AccessDeps['identify'] }

/** What the dashboard asks beside the API, under `/dashboard/api`. Callers, counting and errors are the API's; it is in no document. */
export function dashboardRoutes(deps: Deps, { live, identify }: Watching): Routes {
  const inTurn = oneAtATime<Overview>(deps.clock)
  const links = { seal: deps.seal, baseUrl: deps.config.baseUrl }
  return async (app) => {
    app.addHook('onRoute', (route) => {
      route.schema = { ...route.schema, hide: true }
    })

    await app.register(webhookLogRoutes(deps))

    app.get('/dashboard/api/live', { ...onlyGet, schema: { querystring: OfOrganization } }, async (request, reply) => {
      const { organizationId, userId, actor } = request.context
      const isWelcome = async () => (await identify(request))?.organizationId === organizationId
      const stream = live.open({ organizationId, who: userId ?? actor.id, isWelcome: () => unlessAway(isWelcome) })
      // A proxy that gathers what it passes on would keep the events.
      reply.headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' }).type('text/event-stream; charset=utf-8')
      return reply.send(stream)
    })

    app.get(
      '/dashboard/api/overview',
      { schema: { querystring: OfOrganization, response: Responses(200, Overview) } },
      ({ context }) =>
        inTurn(context.organizationId, () => deps.readList(context, (db) => readOverview({ ...deps, db }, context))),
    )

    app.post(
      '/dashboard/api/lookup',
      { config: { writesNothing: true }, schema: { body: LookupRequest, response: Responses(200, Lookup) } },
      ({ body }) => lookUp(deps, body),
    )

    app.post(
      '/dashboard/api/import',
      {
        bodyLimit: IMPORT_BYTES,
        config: { writesNothing: true },
        schema: { body: ImportRequest, response: Responses(200, ImportPlan) },
      },
      ({ body, context }) => planImport(deps, context, body),
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
        return deps.readList(context, (db) => listEvents(db, deps.seal, context, wanted, { isChange }))
      },
    )

    app.get(
      '/dashboard/api/events.csv',
      { ...onlyGet, schema: { querystring: EventsExport } },
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
      { schema: { params: Params('monitor'), querystring: OfOrganization, response: Responses(200, ValueDifference) } },
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

/** A HEAD would open a stream that nobody reads and nobody closes. */
const onlyGet = { exposeHeadRoute: false }

/** A refusal ends a stream; a database that does not answer for a moment does not. */
async function unlessAway(isWelcome: () => Promise<boolean>): Promise<boolean> {
  try {
    return await isWelcome()
  } catch (error) {
    return !(error instanceof Problem)
  }
}

/** Links and streams cannot carry a header, so that anyone who is signed in names the organization here. */
const ofOrganization = { organization: Type.Optional(Type.String({ maxLength: 40 })) }
const OfOrganization = Type.Object(ofOrganization, { additionalProperties: false })
const ofChanges = { is_change: Type.Optional(Type.Boolean({ description: 'Without first results.' })) }
const { after_id: ____, order_by: _____, include: ______, ...feedQuery } = EventQuery.properties
const EventsQuery = Type.Object({ ...ofOrganization, ...ofChanges, ...feedQuery }, { additionalProperties: false })
const { after: _, before: __, limit: ___, include: _______, ...eventQuery } = EventQuery.properties
const EventsExport = Type.Object({ ...ofOrganization, ...ofChanges, ...eventQuery }, { additionalProperties: false })
const TimelineQuery = Type.Object(
  { ...ofOrganization, range: Type.Enum(TIMELINE_RANGES, { default: '24h' }) },
  { additionalProperties: false },
)
