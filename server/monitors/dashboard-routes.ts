import { Type } from 'typebox'
import { OrganizationQuery } from '#contract/common.ts'
import { Acceptance, KnownLabels, KnownLabelsQuery, ValueDifference } from '#contract/dashboard.ts'
import { Include, MonitorResponse } from '#contract/monitors.ts'
import type { Deps } from '../deps.ts'
import { runIdempotent } from '../http/idempotency.ts'
import { Params, plainJsonSerializer, Responses, type Routes } from '../http/routes.ts'
import { acceptCurrent, differenceOf } from './acceptance.ts'
import { knownLabels } from './known-labels.ts'
import { parseInclude } from './monitor.ts'
import { monitorResponse } from './monitor-response.ts'
import { getMonitor } from './store.ts'

/** What the pages of monitors need beside the API. */
export function monitorDashboardRoutes(deps: Deps): Routes {
  const links = { keyring: deps.keyring, baseUrl: deps.config.baseUrl }
  return async (app) => {
    app.get(
      '/dashboard/api/labels',
      { schema: { querystring: KnownLabelsQuery, response: Responses(200, KnownLabels) } },
      ({ query, context }) => deps.readList(context, async (db) => ({ labels: await knownLabels(db, context, query) })),
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
            return await monitorResponse(db, links, context, row, included)
          },
        })
      },
    )
  }
}
