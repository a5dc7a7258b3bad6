import type { Migration } from './dialect.ts'

/** Incidents, alerts and webhook requests about zones. A zone is in `incident_monitors` like a monitor, with its own id. */
export const zoneAlerts: Migration = {
  name: 'alerts of zones',
  statements: ({ INTEGER }) => [
    "alter table zones add column problems text not null default '[]'",
    `alter table zones add column evaluate_at ${INTEGER}`,
    'create index zones_to_evaluate on zones (organization_id, id) where evaluate_at is not null',
    `alter table alert_rules add column zone_levels text not null default '["error","critical"]'`,
    `alter table incidents add column zones ${INTEGER} not null default 0`,
    'alter table incidents add column zone_level text',
    'alter table alerts add column announced_level text',
    `create index incidents_of_zones on incident_monitors (organization_id, monitor_id, incident_id)
      where substr(monitor_id, 1, 4) = 'zon_'`,
    `alter table webhooks add column zone_events ${INTEGER} not null default 0`,
    'create index webhooks_of_zones on webhooks (organization_id, id) where zone_events = 1',
  ],
}
