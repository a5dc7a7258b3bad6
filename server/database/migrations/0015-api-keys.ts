import type { Migration } from '../migrate.ts'

/** API keys are rotated, have limits of their own, and can be made by other keys. */
export const apiKeys: Migration = {
  name: 'api keys',
  statements: ({ INTEGER }) => [
    `alter table api_keys add column version ${INTEGER} not null default 1`,
    // limits: JSON, requests per minute by class. limits_by: 'owner' or 'operator'.
    'alter table api_keys add column limits text',
    'alter table api_keys add column limits_by text',
    'alter table api_keys add column created_by_key text',
    `alter table api_keys add column rotated_at ${INTEGER}`,
    // The key before the last rotation works until then.
    'alter table api_keys add column previous_hash text',
    `alter table api_keys add column previous_until ${INTEGER}`,
    'create unique index api_keys_by_previous on api_keys (previous_hash) where previous_hash is not null',
    'create index active_api_keys on api_keys (organization_id, id) where revoked_at is null',
    'create index revoked_api_keys on api_keys (organization_id, id) where revoked_at is not null',
  ],
}
