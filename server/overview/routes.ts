import { OrganizationQuery } from '#contract/common.ts'
import { Overview } from '#contract/dashboard.ts'
import type { Deps } from '../deps.ts'
import { Responses, type Routes } from '../http/routes.ts'
import { readOverview, shareRuns } from './overview.ts'

export function overviewRoutes(deps: Deps): Routes {
  const shared = shareRuns<Overview>(deps.clock)
  return async (app) => {
    app.get(
      '/dashboard/api/overview',
      { schema: { querystring: OrganizationQuery, response: Responses(200, Overview) } },
      ({ context }) =>
        shared(context.organizationId, () => deps.readList(context, (db) => readOverview({ ...deps, db }, context))),
    )
  }
}
