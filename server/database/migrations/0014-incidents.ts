import type { Migration } from '../migrate.ts'

/** Incidents by cause, with what happened in them; repetition, escalation, quiet hours and digests of alert rules. */
export const incidents: Migration = {
  name: 'incidents',
  // The index is created again: what inserts a summary names no index.
  needs: 9,
  statements: ({ INTEGER, CLUSTERED }) => [
    // cause_kind: what its monitors share where they are of several zones. assignee_id: an agent.
    `alter table incidents add column cause_kind text not null default 'zone'`,
    'alter table incidents add column cause_value text',
    'alter table incidents add column assignee_id text',
    `alter table incidents add column snoozed_until ${INTEGER}`,

    // first_result: it was never valid. left_at: deleted, disabled or changed while it failed.
    `alter table incident_monitors add column first_result ${INTEGER} not null default 0`,
    `alter table incident_monitors add column left_at ${INTEGER}`,
    `create index incident_monitors_left on incident_monitors (organization_id, monitor_id)
      where left_at is not null and recovered_at is null`,
    `update incident_monitors set left_at = 0 where recovered_at is null and not exists (
      select 1 from monitors where monitors.organization_id = incident_monitors.organization_id
        and monitors.id = incident_monitors.monitor_id and monitors.is_active = 1 and monitors.state <> 'UNSET')`,
    'update due_evaluations set due_at = 0 where due_at is null',

    // Further causes of incidents that are open, beside incidents.cause.
    `create table incident_causes (
      organization_id text not null,
      cause text not null,
      incident_id text not null,
      primary key (organization_id, cause),
      foreign key (organization_id, incident_id) references incidents (organization_id, id) on delete cascade
    ) ${CLUSTERED}`,
    'create index incident_causes_by_incident on incident_causes (organization_id, incident_id)',

    `create table incident_events (
      organization_id text not null,
      event_id text not null,
      incident_id text not null,
      primary key (organization_id, event_id),
      foreign key (organization_id, incident_id) references incidents (organization_id, id) on delete cascade
    ) ${CLUSTERED}`,
    'create index incident_events_by_incident on incident_events (organization_id, incident_id, event_id)',

    // What happened and who was notified, in the order of id.
    `create table incident_entries (
      organization_id text not null,
      incident_id text not null,
      id text not null,
      occurred_at ${INTEGER} not null,
      kind text not null,
      actor text,
      detail text,
      alert_id text,
      channel_id text,
      primary key (organization_id, incident_id, id),
      foreign key (organization_id, incident_id) references incidents (organization_id, id) on delete cascade
    ) ${CLUSTERED}`,

    // quiet_from, quiet_until: minutes of the day in timezone. digest: hourly or daily.
    `alter table alert_rules add column repeat_ms ${INTEGER}`,
    `alter table alert_rules add column escalate_ms ${INTEGER}`,
    'alter table alert_rules add column escalation_channel_id text',
    `alter table alert_rules add column quiet_from ${INTEGER}`,
    `alter table alert_rules add column quiet_until ${INTEGER}`,
    `alter table alert_rules add column timezone text not null default 'UTC'`,
    'alter table alert_rules add column digest text',
    `alter table alert_rules add column first_results ${INTEGER} not null default 0`,

    // escalated: sent because nobody acknowledged. asked_at: a person asked for it again. digest_rule_id: of a digest and what is in it.
    `alter table alerts add column escalated ${INTEGER} not null default 0`,
    `alter table alerts add column asked_at ${INTEGER}`,
    'alter table alerts add column digest_rule_id text',
    'drop index pending_summaries',
    `create unique index pending_summaries on alerts (organization_id, channel_id, coalesce(digest_rule_id, ''))
      where kind = 'summary' and status = 'PENDING'`,
  ],
}
