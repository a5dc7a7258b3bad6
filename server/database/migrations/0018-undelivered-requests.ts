import type { Migration } from '../migrate.ts'

/** The list of what was not delivered, of all webhooks of an organization. */
export const undeliveredRequests: Migration = {
  name: 'undelivered requests',
  statements: () => [
    `create index webhook_requests_undelivered on webhook_requests (organization_id, created_at, id)
      where status <> 'DELIVERED'`,
    `create index webhook_requests_undelivered_by_status on webhook_requests (organization_id, status, created_at, id)
      where status <> 'DELIVERED'`,
  ],
}
