import { DELETION_DAYS, OrganizationDeletion, OrganizationDeletionQuery } from '#contract/organization.ts'
import type { Deps } from '../deps.ts'
import { requireWriteRole } from '../http/authorization.ts'
import { NoContent, Responses, type Routes, tagRoutes } from '../http/routes.ts'
import { cancelDeletion, getDeletion, requestDeletion } from './organization-deletion.ts'

export function deletionRoutes({ db }: Deps): Routes {
  return async (app) => {
    tagRoutes(app, 'Organization')
    requireWriteRole(app, 'owner')

    app.delete(
      '/organization',
      {
        schema: {
          operationId: 'deleteOrganization',
          summary: 'Delete the organization',
          description: `Requires the role owner, and the name of the organization as \`name\`. Everything is deleted after ${DELETION_DAYS} days: monitors, events, webhooks, alerts, members, API keys and the audit log. Until then nothing changes, the owners are notified, and an owner can cancel it with \`DELETE /organization/deletion\`. Returns 409 while a paid plan is not canceled.`,
          querystring: OrganizationDeletionQuery,
          response: Responses(202, OrganizationDeletion),
        },
      },
      async ({ query, context }, reply) => reply.code(202).send(await requestDeletion(db, context, query)),
    )

    app.get(
      '/organization/deletion',
      {
        schema: {
          operationId: 'getOrganizationDeletion',
          summary: 'Get the deletion of the organization',
          description: 'All fields are null if nobody requested a deletion.',
          response: Responses(200, OrganizationDeletion),
        },
      },
      ({ context }) => getDeletion(db, context),
    )

    app.delete(
      '/organization/deletion',
      {
        schema: {
          operationId: 'cancelOrganizationDeletion',
          summary: 'Cancel the deletion of the organization',
          description:
            'Requires the role owner. Returns 204 also if nobody requested a deletion, and 409 if it has begun.',
          response: Responses(204, NoContent),
        },
      },
      async ({ context }, reply) => {
        await cancelDeletion(db, context)
        return reply.code(204).send(null)
      },
    )
  }
}
