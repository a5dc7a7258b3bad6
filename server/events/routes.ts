import { PageOf } from '#contract/common.ts'
import { EventDetails, EventDetailsQuery, EventQuery, ListedEvent, MonitorEventQuery } from '#contract/events.ts'
import type { Deps } from '../deps.ts'
import { Params, plainJsonSerializer, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { getMonitor } from '../monitors/store.ts'
import { getEvent, listEvents } from './store.ts'

export function eventRoutes(deps: Deps): Routes {
  const { db, keyring } = deps
  return async (app) => {
    tagRoutes(app, 'Monitors')
    app.get(
      '/events',
      {
        serializerCompiler: plainJsonSerializer,
        schema: {
          operationId: 'listEvents',
          summary: 'List events',
          tags: ['Events'],
          querystring: EventQuery,
          response: Responses(200, PageOf(ListedEvent)),
        },
      },
      ({ query, context }) => deps.readList(context, (db) => listEvents(db, keyring, context, query)),
    )

    app.get(
      '/monitors/:monitor/events',
      {
        serializerCompiler: plainJsonSerializer,
        schema: {
          operationId: 'listMonitorEvents',
          summary: 'List the events of a monitor',
          params: Params('monitor'),
          querystring: MonitorEventQuery,
          response: Responses(200, PageOf(ListedEvent)),
        },
      },
      ({ params, query, context }) =>
        deps.readList(context, async (db) => {
          const { id } = await getMonitor(db, context, params.monitor)
          return await listEvents(db, keyring, context, { ...query, monitor_id: id })
        }),
    )

    app.get(
      '/monitors/:monitor/events/:event',
      {
        serializerCompiler: plainJsonSerializer,
        schema: {
          operationId: 'getMonitorEvent',
          summary: 'Get an event of a monitor',
          params: Params('monitor', 'event'),
          querystring: EventDetailsQuery,
          response: Responses(200, EventDetails),
        },
      },
      ({ params, query, context }) => getEvent(db, context, { ...params, include: query.include }),
    )
  }
}
