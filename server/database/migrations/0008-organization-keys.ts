import type { Migration } from '../migrate.ts'

/**
 * Every key of tenants' rows holds the organization, so that the data can be distributed by it. PostgreSQL alone can be
 * distributed, and SQLite would have to copy its tables: docs/decisions/0016.
 */
export const organizationKeys: Migration = {
  name: 'organization keys',
  needs: 7, // what it drops it adds again, with one more column
  statements: ({ ENGINE }) => [
    // The default is what a program of the version before writes.
    `alter table webhook_attempts add column organization_id text not null default ''`,
    `update webhook_attempts set organization_id = coalesce(
      (select organization_id from webhook_requests where webhook_requests.id = webhook_attempts.request_id), '')`,
    ...(ENGINE === 'postgres' ? ON_POSTGRES : []),
  ],
}

/** `id` comes first: whatever finds a row by its id alone still finds it in the key. */
const primaryKey = (table: string, columns = 'id') =>
  `alter table ${table} drop constraint ${table}_pkey, add primary key (${columns}, organization_id)`

const foreignKey = (table: string, column: string, referenced: string, action = '') =>
  `alter table ${table} add constraint ${table}_${column}_fkey
    foreign key (${column}, organization_id) references ${referenced} (id, organization_id) ${action}`

const ON_POSTGRES = [
  'alter table monitors drop constraint monitors_group_id_fkey',
  'alter table events drop constraint events_monitor_id_fkey',
  `alter table group_webhooks drop constraint group_webhooks_group_id_fkey,
    drop constraint group_webhooks_webhook_id_fkey`,
  ...['groups', 'monitors', 'events', 'webhooks', 'webhook_requests'].map((table) => primaryKey(table)),
  primaryKey('group_webhooks', 'group_id, webhook_id'),
  primaryKey('event_bodies', 'event_id'),
  primaryKey('webhook_attempts', 'request_id, number'),
  foreignKey('monitors', 'group_id', 'groups'),
  foreignKey('events', 'monitor_id', 'monitors', 'on delete cascade'),
  foreignKey('group_webhooks', 'group_id', 'groups', 'on delete cascade'),
  foreignKey('group_webhooks', 'webhook_id', 'webhooks', 'on delete cascade'),
]
