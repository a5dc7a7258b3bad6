import type { Migration } from './dialect.ts'

/** Zones that are looked at every hour, and what was found. */
export const zones: Migration = {
  name: 'zones',
  statements: ({ INTEGER, SORTED_TEXT, STRICT, CLUSTERED, tenantKey, tenantReference }) => [
    `create table zones (
      organization_id text not null references organizations (id) on delete cascade,
      id text not null,
      created_at ${INTEGER} not null,
      name ${SORTED_TEXT} not null,
      health text not null,
      counts text not null,
      expected_name_servers text,
      confirmed_at ${INTEGER},
      ignored text not null,
      facts text,
      memory text not null,
      withheld_since ${INTEGER},
      withheld_reason text,
      version ${INTEGER} not null default 1,
      ${tenantKey('id')},
      unique (organization_id, name)
    ) ${STRICT}`,
    'create index zones_by_id on zones (organization_id, id)',
    'create index zones_by_health on zones (organization_id, health, id)',
    `create table zone_findings (
      organization_id text not null,
      zone_id text not null,
      code text not null,
      about text not null,
      level text not null,
      params text not null,
      evidence text not null,
      first_seen_at ${INTEGER} not null,
      confirmed_at ${INTEGER},
      missing_since ${INTEGER},
      primary key (organization_id, zone_id, code, about),
      ${tenantReference('zone_id', 'zones', 'on delete cascade')}
    ) ${CLUSTERED}`,
    `create table zone_events (
      organization_id text not null,
      zone_id text not null,
      id text not null,
      occurred_at ${INTEGER} not null,
      kind text not null,
      code text not null,
      about text not null,
      level text not null,
      params text not null,
      primary key (organization_id, zone_id, id),
      ${tenantReference('zone_id', 'zones', 'on delete cascade')}
    ) ${CLUSTERED}`,
    'create index zone_events_by_id on zone_events (organization_id, id)',
    `create table due_zones (
      organization_id text not null,
      zone_id text not null,
      name text not null,
      last_checked_at ${INTEGER},
      due_at ${INTEGER},
      claimed_by ${INTEGER},
      was_due_at ${INTEGER},
      primary key (organization_id, zone_id),
      ${tenantReference('zone_id', 'zones', 'on delete cascade')}
    ) ${STRICT}`,
    'create index due_zones_by_due on due_zones (due_at)',
  ],
}
