import type { Migration } from '../migrate.ts'

const MINUTE_MS = 60_000

/** Channels, alert rules, incidents and alerts, with the default channel and rule of every organization. */
export const alerts: Migration = {
  name: 'alerts',
  statements: ({ INTEGER, BLOB, CLUSTERED }) => [
    // settings: JSON without secrets. secrets: JSON, sealed.
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

    // group_ids, record_types, states: JSON lists; null matches everything. delay_ms: how long a monitor must fail.
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

    // failing: of monitors, those that have not recovered.
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
      primary key (organization_id, id)
    ) ${CLUSTERED}`,
    `create unique index open_incidents on incidents (organization_id, cause) where resolved_at is null`,
    `create index open_incidents_by_id on incidents (organization_id, id) where resolved_at is null`,
    `create index resolved_incidents on incidents (organization_id, resolved_at) where resolved_at is not null`,

    // A monitor that fails, recovers and fails again has one row. event_id: of its last failure in the incident.
    `create table incident_monitors (
      organization_id text not null,
      incident_id text not null,
      monitor_id text not null,
      event_id text not null,
      failing_since ${INTEGER} not null,
      recovered_at ${INTEGER},
      primary key (organization_id, incident_id, monitor_id),
      foreign key (organization_id, incident_id) references incidents (organization_id, id) on delete cascade
    ) ${CLUSTERED}`,
    `create unique index failing_monitors on incident_monitors (organization_id, monitor_id) where recovered_at is null`,
    `create index incident_monitors_failing on incident_monitors (organization_id, incident_id, failing_since)
      where recovered_at is null`,

    // No reference to rule and channel: the log outlives them. progress: JSON, which recipients have it already.
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
      primary key (organization_id, id)
    ) ${CLUSTERED}`,
    `create unique index alerts_of_incidents on alerts (organization_id, incident_id, rule_id, channel_id, kind)
      where incident_id is not null`,
    `create unique index pending_summaries on alerts (organization_id, channel_id)
      where kind = 'summary' and status = 'PENDING'`,
    'create index alerts_by_channel on alerts (organization_id, channel_id, id)',
    'create index alerts_by_status on alerts (organization_id, status, id)',
    `create index alerts_attempted on alerts (organization_id, channel_id, last_attempt_at)
      where last_attempt_at is not null`,
    `create index held_alerts on alerts (organization_id, channel_id, id) where status = 'HELD'`,

    // The last 200 of an alert at most: an alert has ten attempts, and those that people ask for.
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

    // One row for each organization: which of its events the incidents include. due_at is null while there are no others.
    `create table due_evaluations (
      organization_id text primary key references organizations (id) on delete cascade,
      after_event_id text not null,
      due_at ${INTEGER},
      claimed_by ${INTEGER},
      was_due_at ${INTEGER}
    ) ${CLUSTERED}`,
    'create index due_evaluations_by_due on due_evaluations (due_at)',

    // Addresses of people who are not members. id: in the links of confirmation and unsubscribe mails.
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

    `insert into due_evaluations (organization_id, after_event_id)
      select id, coalesce((select max(events.id) from events where events.organization_id = organizations.id), '')
      from organizations`,
    `insert into channels (organization_id, id, created_at, name, type, settings)
      select id, 'chn_' || substr(id, 5), created_at, 'Email to owners', 'email', '{"owners":true,"addresses":[]}'
      from organizations`,
    `insert into alert_rules (organization_id, id, created_at, name, delay_ms)
      select id, 'rul_' || substr(id, 5), created_at, 'All monitors', ${10 * MINUTE_MS} from organizations`,
    `insert into alert_rule_channels (organization_id, rule_id, channel_id)
      select id, 'rul_' || substr(id, 5), 'chn_' || substr(id, 5) from organizations`,
  ],
}
