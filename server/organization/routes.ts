import type { FastifyReply } from 'fastify'
import { AuditEntry, AuditLogQuery } from '#contract/audit-log.ts'
import { PageOf } from '#contract/common.ts'
import { Billing, BillingChange, Organization, OrganizationChange } from '#contract/organization.ts'
import { listAuditLog } from '../audit-log.ts'
import type { Deps } from '../deps.ts'
import { requireWriteRole } from '../http/authorization.ts'
import { Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { schemaErrors } from '../http/validation.ts'
import { throwIfInvalid } from '../problem.ts'
import { billingErrors, getBilling, updateBilling } from './billing.ts'
import { getOrganizationDetails, organizationErrors, updateOrganization } from './details.ts'
import type { Payments } from './payments.ts'
import { sendBillingToStripe } from './purchase.ts'

/** Throws 429 after many attempts of one of the subjects. */
export type LimitAttempts = (reply: FastifyReply, subjects: string[]) => Promise<void>

export function organizationRoutes(deps: Deps, payments: Payments | null, limitAttempts: LimitAttempts): Routes {
  const { db, config, keyring } = deps
  return async (app) => {
    tagRoutes(app, 'Organization')
    requireWriteRole(app, 'admin')
    // The handlers report the errors of the schema together with their own.
    const attachValidation = true

    app.get(
      '/organization',
      {
        schema: {
          operationId: 'getOrganization',
          summary: 'Get the organization',
          response: Responses(200, Organization),
        },
      },
      ({ context }) => getOrganizationDetails(db, context),
    )

    app.patch(
      '/organization',
      {
        attachValidation,
        config: { takesIfMatch: true },
        schema: {
          operationId: 'updateOrganization',
          summary: 'Update the organization',
          description: 'Fields you leave out keep their values, also within `settings`.',
          body: OrganizationChange,
          response: Responses(200, Organization),
        },
      },
      async (request, reply) => {
        const { body, context } = request
        throwIfInvalid({ ...organizationErrors(body), ...schemaErrors(request) })
        // A 409 says that another organization has the slug, so nobody may try many.
        const { organizationId, userId = organizationId } = context
        if (body.slug !== undefined) await limitAttempts(reply, [`slug of ${organizationId}`, `slug by ${userId}`])
        return await updateOrganization({ db, keyring, plans: config.plans }, context, body, request.match)
      },
    )

    app.get(
      '/audit-log',
      {
        config: { readRole: 'admin' },
        schema: {
          operationId: 'listAuditLog',
          summary: 'List the audit log',
          description:
            'Returns who created, changed or deleted what, when, and from which IP address. One call is one entry, even if it changed many objects. Requires the role admin or owner. Entries are deleted after `event_retention_days`.',
          querystring: AuditLogQuery,
          response: Responses(200, PageOf(AuditEntry)),
        },
      },
      ({ query, context }) => deps.readList(context, (db) => listAuditLog(db, keyring, context, query)),
    )

    app.get(
      '/organization/billing',
      {
        config: { readRole: 'admin' },
        schema: {
          operationId: 'getOrganizationBilling',
          summary: 'Get the billing details',
          description: 'Requires the role admin or owner.',
          response: Responses(200, Billing),
        },
      },
      ({ context }) => getBilling(db, context),
    )

    app.patch(
      '/organization/billing',
      {
        attachValidation,
        config: { writeRole: 'owner', takesIfMatch: true },
        schema: {
          operationId: 'updateOrganizationBilling',
          summary: 'Update the billing details',
          description: 'Fields you leave out keep their values. null clears a field.',
          body: BillingChange,
          response: Responses(200, Billing),
        },
      },
      async (request) => {
        const { body, context, log, match } = request
        const errors = schemaErrors(request)
        throwIfInvalid({ ...billingErrors(body), ...errors })
        const billing = await updateBilling(db, context, body, match)
        await sendBillingToStripe(deps, payments, context).catch((err: unknown) =>
          log.warn({ err }, 'Billing details could not be sent to Stripe. They are sent with the next change.'),
        )
        return billing
      },
    )
  }
}
