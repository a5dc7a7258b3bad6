import type { Migration } from '../migrate.ts'

/**
 * What an event says is stored once, however many webhooks receive it, and requests for many webhooks are written after the
 * check's transaction. What is stored for webhooks is counted for each organization.
 */
export const eventBodies: Migration = {
  name: 'event bodies',
  statements: ({ ENGINE, INTEGER, BLOB, STRICT, CLUSTERED }) => {
    const octets = (column: string) =>
      `coalesce(${ENGINE === 'sqlite' ? `length(cast(${column} as blob))` : `octet_length(${column})`}, 0)`
    return [
      // `requests`: how many use it, and one more while its fan-out is not finished. At 0 it goes.
      `create table event_bodies (
        event_id text primary key,
        organization_id text not null,
        octets ${BLOB} not null,
        requests ${INTEGER} not null
      ) ${STRICT}`,
      `create table fan_outs (
        organization_id text not null,
        event_id text not null,
        monitor_id text not null,
        webhooks text not null,
        after_webhook text not null,
        primary key (organization_id, event_id)
      ) ${CLUSTERED}`,
      // Null: the body is whole, as in tests and in requests from before this migration.
      `alter table webhook_requests add column event_at ${INTEGER}`,
      `alter table webhooks add column target_version ${INTEGER} not null default 0`,
      `alter table webhooks add column dropped ${INTEGER} not null default 0`,
      `alter table events add column truncated ${INTEGER} not null default 0`,
      `create table webhook_storage (
        organization_id text primary key,
        octets ${INTEGER} not null
      ) ${CLUSTERED}`,
      `insert into webhook_storage (organization_id, octets)
        select organization_id, sum(1024 + ${octets('body')} + ${octets('response_body')}) from webhook_requests group by organization_id`,
    ]
  },
}
