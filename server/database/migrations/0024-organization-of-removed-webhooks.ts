import type { Migration } from './dialect.ts'

/** Whose requests the loop deletes, so that its statements can name the organization. */
export const organizationOfRemovedWebhooks: Migration = {
  name: 'organization of removed webhooks',
  statements: () => ['alter table removed_webhooks add column organization_id text'],
}
