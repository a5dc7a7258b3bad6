import { ImportPlan, ImportRequest, ImportUpdated, ImportUpdates, Lookup, LookupRequest } from '#contract/dashboard.ts'
import { forOrganization } from '../../checks/monitor-query.ts'
import type { Deps } from '../../deps.ts'
import { Responses, type Routes } from '../../http/routes.ts'
import { planImport } from './import-plan.ts'
import { lookUp } from './lookup.ts'
import { updateExpectations } from './updates.ts'

/** Enough for 1,048,576 characters, most of them escaped in JSON. */
const IMPORT_BYTES = 4 * 1024 * 1024

/** What the dashboard needs to make monitors of records that exist. */
export function importRoutes(deps: Deps): Routes {
  return async (app) => {
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
  }
}
