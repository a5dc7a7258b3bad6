import { fieldError } from '#contract/field-errors.ts'
import { MAX_UPTIME_MONITORS, Uptime, UptimeOfMonitors, UptimeQuery, Uptimes, UptimesQuery } from '#contract/uptime.ts'
import type { RequestContext } from '../context.ts'
import type { Deps } from '../deps.ts'
import { getGroupRow } from '../groups/resolve.ts'
import { Params, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { invalid } from '../problem.ts'
import {
  CsvResponses,
  sendCsv,
  UPTIME_CSV_DESCRIPTION,
  UPTIME_DESCRIPTION,
  UPTIME_SUM_DESCRIPTION,
} from './uptime-response.ts'
import { getUptime, getUptimes, sumUptimes } from './uptime-store.ts'

export function uptimeRoutes(deps: Deps): Routes {
  const ofMonitor = (context: RequestContext, id: string, { days = 90 }: UptimeQuery) =>
    deps.readList(context, (db) => getUptime(db, context, id, days))
  const ofGroup = (context: RequestContext, group: string, { days = 90 }: UptimeQuery) =>
    deps.readList(context, async (db) => {
      const { id } = await getGroupRow(db, context, group)
      return await sumUptimes(db, context, { column: 'group_id', value: id }, days)
    })
  return async (app) => {
    tagRoutes(app, 'Monitors')
    const querystring = UptimeQuery

    app.get(
      '/monitors/uptime',
      {
        schema: {
          operationId: 'listUptimes',
          summary: 'Get the uptime of several monitors',
          description: UPTIME_DESCRIPTION,
          querystring: UptimesQuery,
          response: Responses(200, Uptimes),
        },
      },
      ({ query, context }) => {
        const ids = query.ids.split(',')
        if (ids.length > MAX_UPTIME_MONITORS)
          throw invalid({ ids: fieldError('too_many', { max: MAX_UPTIME_MONITORS }) })
        return deps.readList(context, (db) => getUptimes(db, context, ids, query.days ?? 30))
      },
    )

    const monitor = {
      ...{ operationId: 'getMonitorUptime', summary: 'Get the uptime of a monitor', description: UPTIME_DESCRIPTION },
      ...{ params: Params('monitor'), querystring, response: Responses(200, Uptime) },
    }
    app.get('/monitors/:monitor/uptime', { schema: monitor }, ({ params, query, context }) =>
      ofMonitor(context, params.monitor, query),
    )
    const monitorCsv = {
      ...{ operationId: 'exportMonitorUptime', summary: 'Export the uptime of a monitor as CSV' },
      ...{ description: UPTIME_CSV_DESCRIPTION, params: Params('monitor'), querystring, response: CsvResponses },
    }
    app.get('/monitors/:monitor/uptime.csv', { schema: monitorCsv }, async ({ params, query, context }, reply) =>
      sendCsv(reply, await ofMonitor(context, params.monitor, query)),
    )

    const tags = ['Groups']
    const group = {
      ...{ operationId: 'getGroupUptime', summary: 'Get the uptime of a group', description: UPTIME_SUM_DESCRIPTION },
      ...{ tags, params: Params('group'), querystring, response: Responses(200, UptimeOfMonitors) },
    }
    app.get('/groups/:group/uptime', { schema: group }, ({ params, query, context }) =>
      ofGroup(context, params.group, query),
    )
    const groupCsv = {
      ...{ operationId: 'exportGroupUptime', summary: 'Export the uptime of a group as CSV', tags },
      ...{ description: UPTIME_CSV_DESCRIPTION, params: Params('group'), querystring, response: CsvResponses },
    }
    app.get('/groups/:group/uptime.csv', { schema: groupCsv }, async ({ params, query, context }, reply) =>
      sendCsv(reply, await ofGroup(context, params.group, query)),
    )
  }
}
