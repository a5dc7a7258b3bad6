import { Type } from 'typebox'
import { organizationField, PageOf, StrictObject } from '#contract/common.ts'
import { TIMELINE_RANGES, Timeline } from '#contract/dashboard.ts'
import { Event, EventQuery } from '#contract/events.ts'
import type { Deps } from '../deps.ts'
import { Params, Responses, type Routes, withoutHead } from '../http/routes.ts'
import { eventsCsv } from './events-csv.ts'
import { listEvents } from './store.ts'
import { readTimeline } from './timeline-store.ts'

/** The history as the dashboard shows it. */
export function eventDashboardRoutes(deps: Deps): Routes {
  return async (app) => {
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
