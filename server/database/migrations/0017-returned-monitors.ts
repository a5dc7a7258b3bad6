import type { Migration } from '../migrate.ts'

/** Monitors that still fail when they are enabled again; alert rules by tag. */
export const returnedMonitors: Migration = {
  name: 'returned monitors',
  statements: ({ INTEGER }) => [
    // returned_at: enabled again, and a check found that it still fails. left_monitors: all that a monitor left.
    `alter table incident_monitors add column returned_at ${INTEGER}`,
    `create index returned_monitors on incident_monitors (organization_id, monitor_id) where returned_at is not null`,
    `create index left_monitors on incident_monitors (organization_id, monitor_id, event_id) where left_at is not null`,
    // tags: JSON list; null matches everything.
    'alter table alert_rules add column tags text',
  ],
}
