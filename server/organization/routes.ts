import { Billing, BillingChange, Organization, OrganizationChange } from '#contract/organization.ts'
import { Answers, type Routes } from '../http/routes.ts'
import type { Doors } from '../outside.ts'
import { adminsChange } from './admin-only.ts'
import { getBilling, updateBilling } from './billing.ts'
import { getOrganizationDetails, updateOrganization } from './details.ts'

export function organizationRoutes({ db, config }: Doors): Routes {
  return async (app) => {
    adminsChange(app)

    app.get('/organization', { schema: { response: Answers(200, Organization) } }, ({ caller }) =>
      getOrganizationDetails(db, caller.organizationId),
    )

    app.patch(
      '/organization',
      { schema: { body: OrganizationChange, response: Answers(200, Organization) } },
      ({ body, caller }) => updateOrganization(db, config.plans, caller.organizationId, body),
    )

    app.get('/organization/billing', { schema: { response: Answers(200, Billing) } }, ({ caller }) =>
      getBilling(db, caller.organizationId),
    )

    app.patch(
      '/organization/billing',
      { schema: { body: BillingChange, response: Answers(200, Billing) } },
      ({ body, caller }) => updateBilling(db, caller.organizationId, body),
    )
  }
}
