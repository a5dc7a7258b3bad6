import { Type } from 'typebox'
import { Lookup, LookupRequest, TIMELINE_RANGES, Timeline } from '#contract/dashboard.ts'
import { Answers, Params, type Routes } from '../http/routes.ts'
import type { Doors } from '../outside.ts'
import { lookUp } from './lookup.ts'
import { readTimeline } from './timeline-store.ts'

/** What the dashboard asks beside the API, under `/dashboard/api`. Callers, counting and errors are the API's; it is in no document. */
export function dashboardRoutes(doors: Doors): Routes {
  return async (app) => {
    app.addHook('onRoute', (route) => {
      route.schema = { ...route.schema, hide: true }
    })

    app.post('/dashboard/api/lookup', { schema: { body: LookupRequest, response: Answers(200, Lookup) } }, ({ body }) =>
      lookUp(doors, body),
    )

    app.get(
      '/dashboard/api/monitors/:monitor/timeline',
      { schema: { params: Params('monitor'), querystring: TimelineQuery, response: Answers(200, Timeline) } },
      ({ params, query, caller }) => readTimeline(doors, caller.organizationId, params.monitor, query.range),
    )
  }
}

/** Links and streams cannot carry a header, so that whoever is signed in names the organization here. */
const ofOrganization = { organization: Type.Optional(Type.String({ maxLength: 40 })) }
const TimelineQuery = Type.Object(
  { ...ofOrganization, range: Type.Enum(TIMELINE_RANGES, { default: '24h' }) },
  { additionalProperties: false },
)
