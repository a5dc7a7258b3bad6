import type { Migration } from '../migrate.ts'

/**
 * `version` counts the changes of what a PATCH can change, for `If-Match`. `made` is what a repeated POST is answered from
 * where its answer is too large to keep; `octets` and `idempotency_usage` bound what an organization keeps.
 */
export const versionsAndAnswers: Migration = {
  name: 'versions and answers',
  statements: ({ INTEGER, BLOB, STRICT }) => [
    ...['organizations', 'billing_details', 'agents', 'monitors', 'groups', 'webhooks'].map(
      (table) => `alter table ${table} add column version ${INTEGER} not null default 1`,
    ),
    `alter table idempotent_requests add column made ${BLOB}`,
    `alter table idempotent_requests add column octets ${INTEGER} not null default 0`,
    `create table idempotency_usage (
      organization_id text primary key references organizations (id) on delete cascade,
      octets ${INTEGER} not null
    ) ${STRICT}`,
  ],
}
