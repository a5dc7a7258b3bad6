import { OrganizationQuery } from '#contract/common.ts'
import { ServerStatus } from '#contract/server.ts'
import { isOperator } from '../accounts/operators.ts'
import type { Deps } from '../deps.ts'
import { Responses, type Routes } from '../http/routes.ts'
import { forbidden } from '../problem.ts'
import { readServerStatus } from './server-status.ts'

/** For operators only: the status covers all organizations, so a role in one of them or an API key is not enough. */
export function serverStatusRoutes(deps: Deps): Routes {
  return async (app) => {
    app.get(
      '/dashboard/api/server',
      { schema: { hide: true, querystring: OrganizationQuery, response: Responses(200, ServerStatus) } },
      async ({ context: { userId } }) => {
        if (userId === undefined || !(await isOperator(deps, userId))) {
          throw forbidden('Only operators of the server can see this. OPERATORS lists them.')
        }
        return await readServerStatus(deps)
      },
    )
  }
}
