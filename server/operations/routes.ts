import { Type } from 'typebox'
import { ServerStatus } from '#contract/server.ts'
import { isOperator } from '../accounts/operators.ts'
import type { Deps } from '../deps.ts'
import { Answers, type Routes } from '../http/routes.ts'
import { forbidden } from '../problem.ts'
import { readServerStatus } from './server-status.ts'

/** What operators see. It spans all organizations, so that no role within one of them and no API key is enough. */
export function operationsRoutes(deps: Deps): Routes {
  return async (app) => {
    app.get(
      '/dashboard/api/server',
      { schema: { hide: true, querystring: OfOrganization, response: Answers(200, ServerStatus) } },
      async ({ context: { personId } }) => {
        if (personId === undefined || !(await isOperator(deps, personId))) {
          throw forbidden('Only operators of the server can see this. OPERATORS lists them.')
        }
        return await readServerStatus(deps)
      },
    )
  }
}

const OfOrganization = Type.Object(
  { organization: Type.Optional(Type.String({ maxLength: 40 })) },
  { additionalProperties: false },
)
