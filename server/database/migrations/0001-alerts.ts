import type { Dialect } from './dialect.ts'

/** Channels, alert rules, incidents, alerts and maintenance windows. */
export const alertTables = ({ INTEGER, BLOB, CLUSTERED }: Dialect): string[] => [
  `create table channels (
    organization_id text not null references organizations (id) on delete cascade,
    id text not null,
    created_at ${INTEGER} not null,
    name text not null,
    type text not null,
    settings text not null,
    secrets ${BLOB},
    is_active ${INTEGER} not null default 1,
    last_error text,
    last_sent_at ${INTEGER},
    version ${INTEGER} not null default 1,
    primary key (organization_id, id)
  ) ${CLUSTERED}`,

  `create table alert_rules (
    organization_id text not null references organizations (id) on delete cascade,
    id text not null,
    created_at ${INTEGER} not null,
    name text not null,
    is_active ${INTEGER} not null default 1,
    group_ids text,
    name_pattern text,
    record_types text,
    states text,
    delay_ms ${INTEGER} not null,
    notifies_recovery ${INTEGER} not null default 1,
    version ${INTEGER} not null default 1,
    repeat_ms ${INTEGER},
    escalate_ms ${INTEGER},
    escalation_channel_id text,
    quiet_from ${INTEGER},
    quiet_until ${INTEGER},
    timezone text not null default 'UTC',
    digest text,
    first_results ${INTEGER} not null default 0,
    tags text,
    primary key (organization_id, id)
  ) ${CLUSTERED}`,

  `create table alert_rule_channels (
    organization_id text not null,
    rule_id text not null,
    channel_id text not null,
    primary key (organization_id, rule_id, channel_id),
    foreign key (organization_id, rule_id) references alert_rules (organization_id, id) on delete cascade,
    foreign key (organization_id, channel_id) references channels (organization_id, id) on delete cascade
  ) ${CLUSTERED}`,
  'create index alert_rule_channels_by_channel on alert_rule_channels (organization_id, channel_id)',

  `create table incidents (
    organization_id text not null references organizations (id) on delete cascade,
    id text not null,
    cause text not null,
    zone text not null,
    state text not null,
    opened_at ${INTEGER} not null,
    resolved_at ${INTEGER},
    acknowledged_at ${INTEGER},
    acknowledged_by text,
    note text,
    monitors ${INTEGER} not null,
    failing ${INTEGER} not null,
    version ${INTEGER} not null default 1,
    cause_kind text not null default 'zone',
    cause_value text,
    assignee_id text,
    snoozed_until ${INTEGER},
    primary key (organization_id, id)
  ) ${CLUSTERED}`,
  'create unique index open_incidents on incidents (organization_id, cause) where resolved_at is null',
  'create index open_incidents_by_id on incidents (organization_id, id) where resolved_at is null',
  'create index resolved_incidents on incidents (organization_id, resolved_at) where resolved_at is not null',

  // A monitor that fails, recovers and fails again has one row. event_id: of its last failure in the incident.
  `create table incident_monitors (
    organization_id text not null,
    incident_id text not null,
    monitor_id text not null,
    event_id text not null,
    failing_since ${INTEGER} not null,
    recovered_at ${INTEGER},
    first_result ${INTEGER} not null default 0,
    left_at ${INTEGER},
    returned_at ${INTEGER},
    primary key (organization_id, incident_id, monitor_id),
    foreign key (organization_id, incident_id) references incidents (organization_id, id) on delete cascade
  ) ${CLUSTERED}`,
  'create unique index failing_monitors on incident_monitors (organization_id, monitor_id) where recovered_at is null',
  `create index incident_monitors_failing on incident_monitors (organization_id, incident_id, failing_since)
    where recovered_at is null`,
  `create index incident_monitors_left on incident_monitors (organization_id, monitor_id)
    where left_at is not null and recovered_at is null`,
  'create index left_monitors on incident_monitors (organization_id, monitor_id, event_id) where left_at is not null',
  `create index left_monitors_of_incident on incident_monitors (organization_id, incident_id, left_at)
    where left_at is not null`,
  'create index returned_monitors on incident_monitors (organization_id, monitor_id) where returned_at is not null',

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

  // What happened and who was notified, sorted by id.
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

  // No reference to rule and channel: the log outlives them.
  `create table alerts (
    organization_id text not null references organizations (id) on delete cascade,
    id text not null,
    created_at ${INTEGER} not null,
    kind text not null check (kind in ('failing', 'recovered', 'summary', 'test')),
    incident_id text,
    rule_id text,
    channel_id text not null,
    status text not null check (status in ('PENDING', 'RETRYING', 'SENT', 'FAILED', 'CANCELED', 'HELD')),
    attempts ${INTEGER} not null default 0,
    retries ${INTEGER} not null default 0,
    next_attempt_at ${INTEGER},
    last_attempt_at ${INTEGER},
    sent_at ${INTEGER},
    title text,
    error text,
    progress text,
    summary_id text,
    escalated ${INTEGER} not null default 0,
    retry_requested_at ${INTEGER},
    digest_rule_id text,
    information text,
    reference text,
    primary key (organization_id, id)
  ) ${CLUSTERED}`,
  `create unique index alerts_of_incidents on alerts (organization_id, incident_id, rule_id, channel_id, kind)
    where incident_id is not null`,
  `create unique index pending_summaries on alerts (organization_id, channel_id, coalesce(digest_rule_id, ''))
    where kind = 'summary' and status = 'PENDING'`,
  'create index alerts_by_channel on alerts (organization_id, channel_id, id)',
  'create index alerts_by_status on alerts (organization_id, status, id)',
  `create index alerts_attempted on alerts (organization_id, channel_id, last_attempt_at)
    where last_attempt_at is not null`,
  `create index held_alerts on alerts (organization_id, channel_id, id) where status = 'HELD'`,

  // At most the last 200 of an alert: ten attempts of the schedule, and manual retries.
  `create table alert_attempts (
    organization_id text not null,
    alert_id text not null,
    number ${INTEGER} not null,
    attempted_at ${INTEGER} not null,
    status_code ${INTEGER},
    error text,
    request text,
    response_body text,
    total_ms ${INTEGER} not null,
    primary key (organization_id, alert_id, number),
    foreign key (organization_id, alert_id) references alerts (organization_id, id) on delete cascade
  ) ${CLUSTERED}`,

  `create table due_alerts (
    organization_id text not null,
    alert_id text not null,
    due_at ${INTEGER},
    claimed_by ${INTEGER},
    was_due_at ${INTEGER},
    primary key (organization_id, alert_id),
    foreign key (organization_id, alert_id) references alerts (organization_id, id) on delete cascade
  ) ${CLUSTERED}`,
  'create index due_alerts_by_due on due_alerts (due_at)',

  `create table due_evaluations (
    organization_id text primary key references organizations (id) on delete cascade,
    after_event_id text not null,
    due_at ${INTEGER},
    claimed_by ${INTEGER},
    was_due_at ${INTEGER}
  ) ${CLUSTERED}`,
  'create index due_evaluations_by_due on due_evaluations (due_at)',

  // id: in the links of confirmation and unsubscribe mails.
  `create table alert_addresses (
    organization_id text not null references organizations (id) on delete cascade,
    id text not null,
    created_at ${INTEGER} not null,
    email text not null,
    confirmation_sent_at ${INTEGER},
    confirmed_at ${INTEGER},
    unsubscribed_at ${INTEGER},
    primary key (organization_id, id),
    unique (organization_id, email)
  ) ${CLUSTERED}`,

  `create table maintenance_windows (
    organization_id text not null references organizations (id) on delete cascade,
    id text not null,
    created_at ${INTEGER} not null,
    name text not null,
    monitor_ids text,
    group_ids text,
    name_pattern text,
    from_at ${INTEGER} not null,
    to_at ${INTEGER} not null,
    rrule text,
    timezone text not null,
    last_end_at ${INTEGER},
    version ${INTEGER} not null default 1,
    primary key (organization_id, id)
  ) ${CLUSTERED}`,
  'create index maintenance_windows_by_end on maintenance_windows (organization_id, last_end_at)',
]
