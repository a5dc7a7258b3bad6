import { Billing, BillingChange, Organization, OrganizationChange } from '#contract/organization.ts'
import { changedBy } from '../access/permit.ts'
import { Answers, type Routes } from '../http/routes.ts'
import type { Doors } from '../outside.ts'
import { getBilling, updateBilling } from './billing.ts'
import { getOrganizationDetails, updateOrganization } from './details.ts'
import type { Payments } from './payments.ts'
import { passOnBilling } from './purchase.ts'

export function organizationRoutes(doors: Doors, payments: Payments | null): Routes {
  const { db, config } = doors
  return async (app) => {
    changedBy(app, 'admin')

    app.get('/organization', { schema: { response: Answers(200, Organization) } }, ({ caller }) =>
      getOrganizationDetails(db, caller.organizationId),
    )

    app.patch(
      '/organization',
      {
        schema: {
          description: 'What is absent stays, in `settings` too.',
          body: OrganizationChange,
          response: Answers(200, Organization),
        },
      },
      ({ body, caller }) => updateOrganization(db, config.plans, caller.organizationId, body),
    )

    app.get('/organization/billing', { schema: { response: Answers(200, Billing) } }, ({ caller }) =>
      getBilling(db, caller.organizationId),
    )

    app.patch(
      '/organization/billing',
      {
        config: { changedBy: 'owner' },
        schema: {
          description: 'What is absent stays; null clears a field.',
          body: BillingChange,
          response: Answers(200, Billing),
        },
      },
      async ({ body, caller, log }) => {
        const billing = await updateBilling(db, caller.organizationId, body)
        await passOnBilling(doors, payments, caller.organizationId).catch((err: unknown) =>
          log.warn({ err }, 'Billing details could not be passed on; they go along the next time.'),
        )
        return billing
      },
    )
  }
}
