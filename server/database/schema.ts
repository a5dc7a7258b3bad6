import type { ColumnType, Generated } from 'kysely'
import type * as alerts from './schema-alerts.ts'
import type * as jobs from './schema-jobs.ts'
import type * as people from './schema-people.ts'
import type * as requests from './schema-requests.ts'
import type * as setup from './schema-setup.ts'

/**
 * Every table, as both engines hold it. Instants are UTC epoch milliseconds, truth values 0 or 1, lists and objects JSON
 * text: so one SQL text and one mapping serve SQLite and PostgreSQL alike.
 */
export type Tables = {
  organizations: OrganizationsTable
  api_keys: people.ApiKeysTable
  groups: GroupsTable
  monitors: MonitorsTable
  monitor_labels: MonitorLabelsTable
  group_labels: GroupLabelsTable
  monitor_texts: MonitorTextsTable
  search_fill: SearchFillTable
  due_checks: DueChecksTable
  events: EventsTable
  last_event_times: LastEventTimesTable
  webhooks: WebhooksTable
  group_webhooks: GroupWebhooksTable
  webhook_requests: WebhookRequestsTable
  webhook_attempts: WebhookAttemptsTable
  due_requests: DueRequestsTable
  due_webhooks: DueWebhooksTable
  removed_webhooks: RemovedWebhooksTable
  event_bodies: EventBodiesTable
  fan_outs: FanOutsTable
  webhook_storage: WebhookStorageTable
  people: people.PeopleTable
  sessions: people.SessionsTable
  account_tokens: people.AccountTokensTable
  second_factors: people.SecondFactorsTable
  attempts: people.AttemptsTable
  agents: people.AgentsTable
  invitations: people.InvitationsTable
  billing_details: people.BillingDetailsTable
  subscriptions: people.SubscriptionsTable
  invoices: people.InvoicesTable
  stripe_events: people.StripeEventsTable
  mails: people.MailsTable
  due_mails: people.DueMailsTable
  processes: ProcessesTable
  secret_check: SecretCheckTable
  last_backup: LastBackupTable
  rate_log: requests.RateLogTable
  organization_changes: OrganizationChangesTable
  idempotent_requests: requests.IdempotentRequestsTable
  idempotency_usage: requests.IdempotencyUsageTable
  audit_log: people.AuditLogTable
  database_sizes: DatabaseSizesTable
  channels: alerts.ChannelsTable
  alert_rules: alerts.AlertRulesTable
  alert_rule_channels: alerts.AlertRuleChannelsTable
  incidents: alerts.IncidentsTable
  incident_monitors: alerts.IncidentMonitorsTable
  incident_causes: alerts.IncidentCausesTable
  incident_events: alerts.IncidentEventsTable
  incident_entries: alerts.IncidentEntriesTable
  alerts: alerts.AlertsTable
  alert_attempts: alerts.AlertAttemptsTable
  due_alerts: alerts.DueAlertsTable
  due_evaluations: alerts.DueEvaluationsTable
  alert_addresses: alerts.AlertAddressesTable
  jobs: jobs.JobsTable
  job_batches: jobs.JobBatchesTable
  job_results: jobs.JobResultsTable
  due_jobs: jobs.DueJobsTable
  setup_pages: setup.SetupPagesTable
  waits: setup.WaitsTable
  due_waits: setup.DueWaitsTable
  maintenance_windows: alerts.MaintenanceWindowsTable
  planned_changes: alerts.PlannedChangesTable
  views: people.ViewsTable
}

type Truth = 0 | 1
type Json = string
type Once<T> = ColumnType<T, T, never>

/** One row: a value that only the SECRET of the database gives. */
export type SecretCheckTable = {
  number: Once<number>
  value: Buffer
  /** Ids of keys that some values may still need, comma separated, during a rotation. */
  previous: Generated<string>
}

/** One row, on SQLite only: the result of the last backup. */
export type LastBackupTable = {
  number: Once<number>
  tried_at: number
  /** Null: it was made. */
  error: string | null
  /** Of the last one that was made; null: none was. */
  made_at: number | null
  path: string | null
  octets: number | null
  duration_ms: number | null
}

export type OrganizationsTable = {
  id: Once<string>
  created_at: Once<number>
  name: string
  slug: string
  timezone: Generated<string>
  /** Days; null: as long as the plan allows. */
  event_retention_days: number | null
  alert_emails: Generated<Json>
  version: Generated<number>
}

export type GroupsTable = {
  id: Once<string>
  organization_id: Once<string>
  created_at: Once<number>
  name: string
  slug: string
  is_default: Truth
  /** How many monitors the group has: counted as they come and go, so that a page never counts rows. */
  monitors: number
  version: Generated<number>
} & LabelColumns

/** Of monitors and groups. Old versions of the program do not write them. */
export type LabelColumns = {
  external_id: string | null
  tags: Generated<Json>
  metadata: Generated<Json>
}

export type MonitorLabelsTable = {
  organization_id: Once<string>
  /** `tag:<tag>` or `<key>=<value>`. */
  label: Once<string>
  monitor_id: Once<string>
}

/** What a search looks at. Triggers keep it. On SQLite it has a column `number`, of which the index of the trigrams knows. */
export type MonitorTextsTable = {
  organization_id: Once<string>
  monitor_id: Once<string>
  text: string
}

/** One row while monitors of old have no text yet: the last one that got its own. */
export type SearchFillTable = {
  number: Once<number>
  after_id: string
}

export type GroupLabelsTable = {
  organization_id: Once<string>
  label: Once<string>
  group_id: Once<string>
}

/** The wide row. A check that finds nothing new does not touch it. */
export type MonitorsTable = {
  id: Once<string>
  organization_id: Once<string>
  group_id: string
  created_at: Once<number>
  domain: string
  subdomain: string
  /** The queried name: subdomain and domain joined. */
  owner: string
  record_type: string
  expected_values: Json
  is_exact_match: Truth
  is_active: Truth
  notify: string
  /** Minutes. */
  frequency: number
  state: string
  current_values: Json | null
  incidence_count: number
  /** The evidence of the check that found `state`. */
  diagnosis: Json | null
  rotation: Json | null // see checks/rotation.ts
  /** The monitor's place in `due_checks`, which no other monitor has. */
  slot: number
  version: Generated<number>
} & LabelColumns

/**
 * What is due to be checked, in a narrow table in the order of `slot`. Due times follow the slot, so rows that fall due together
 * lie together, and a row is found by its monitor without an index that moves.
 */
export type DueChecksTable = {
  slot: Once<number>
  monitor_id: Once<string>
  organization_id: Once<string>
  /** When to check next; while claimed, when the lease runs out; null while the monitor is not active. */
  due_at: number | null
  claimed_by: number | null
  /** When it was due before it was claimed last. */
  was_due_at: Generated<number | null>
  /** Everything that an unchanged check needs to know. */
  owner: string
  record_type: string
  is_exact_match: Truth
  frequency: number
  /** Of the outcome last judged; null when the next outcome must be judged whatever it is. */
  fingerprint: number | null
  /** How many checks in a row found the state. */
  streak: number
  /** How often in a row the paths disagreed. */
  doubts: number
  last_checked_at: number | null
  /** When the first of the postponed or withheld checks was made; null after a check that ended. */
  postponed_since: number | null
  /** The monitor's planned change that is open. */
  planned_change_id: Generated<string | null>
}

export type EventsTable = {
  id: Once<string>
  organization_id: Once<string>
  monitor_id: Once<string>
  group_id: string
  occurred_at: Once<number>
  old_state: string
  new_state: string
  previous_values: Json | null
  current_values: Json | null
  incidence_count: number
  domain: string
  subdomain: string
  record_type: string
  expected_values: Json
  is_exact_match: Truth
  diagnosis: Json | null
  /** Values were cut to the bound of an event. */
  truncated: Generated<Truth>
  /** The event is the end of a wait, and nothing changed. */
  timed_out: Generated<Truth>
}

/** The time within the newest event id of an organization. Anyone who makes event ids locks the row until the end of the transaction. */
export type LastEventTimesTable = {
  organization_id: Once<string>
  last_at: number
}

export type WebhooksTable = {
  id: Once<string>
  organization_id: Once<string>
  created_at: Once<number>
  url: string
  secret: Buffer
  /** The secret before a rotation, while its grace lasts. */
  previous_secret: Buffer | null
  previous_secret_until: number | null
  headers: Buffer
  is_active: Truth
  state: 'active' | 'paused'
  last_error: string | null
  last_executed_at: number | null
  version: Generated<number>
  /** One more with every change of what is sent or whether: url, headers, secret, `is_active`, `state`. */
  target_version: Generated<number>
  /** Waiting requests that were removed because they were too many, too old or too large. */
  dropped: Generated<number>
  /** What a payload has beside the specification's fields: names of `PAYLOAD_INCLUDES`. */
  payload_includes: Generated<Json>
  /** Whether it receives the changes of all groups, beside those that it is linked to. */
  all_groups: Generated<Truth>
}

export type GroupWebhooksTable = {
  organization_id: Once<string>
  group_id: Once<string>
  webhook_id: Once<string>
}

export type WebhookRequestsTable = {
  id: Once<string>
  organization_id: Once<string>
  webhook_id: Once<string>
  event_id: Once<string | null>
  monitor_id: Once<string | null>
  created_at: Once<number>
  /** The bytes to send, or those around the event's (`event_bodies`), which go in at `event_at`. */
  body: Once<Buffer>
  event_at: ColumnType<number | null, number | null | undefined, never>
  status: 'PENDING' | 'DELIVERED' | 'RETRYING' | 'FAILED'
  attempts: number
  /** Of the schedule's nine; a probe of a paused webhook uses none up. */
  retries: number
  delivered_at: number | null
  status_code: number | null
  error: string | null
  response_body: string | null
  last_attempt_at: number | null
  /** Of the last attempt. */
  timings: Json | null
  /** The schedule's next time; null once the request is done with. */
  next_attempt_at: number | null
}

/** Attempts before a request's last one, which is in the row of the request. */
export type WebhookAttemptsTable = {
  /** Empty where a program of the version before wrote it. */
  organization_id: Once<string>
  request_id: Once<string>
  number: Once<number>
  attempted_at: Once<number>
  status_code: number | null
  error: string | null
  response_body: string | null
  timings: Json
}

/**
 * What is due to be sent, clustered by webhook so that each webhook has a queue of its own. A request has a row here until it
 * is delivered or given up.
 */
export type DueRequestsTable = {
  webhook_id: Once<string>
  request_id: Once<string>
  due_at: number | null
  claimed_by: number | null
  /** Asked for by a person: one attempt at once, whatever the state of the webhook. */
  by_hand: Truth
}

/** For each webhook, when it must be looked at next: finding work does not walk one webhook's backlog. */
export type DueWebhooksTable = {
  webhook_id: Once<string>
  due_at: number | null
  /** When a paused webhook is probed next. */
  probe_at: number | null
  /** After a pause what was kept is sent in the order of its ids: those after the first, up to the second. */
  drain_after: string | null
  drain_to: string | null
}

/** Webhooks that are gone, but not all of their requests yet. */
export type RemovedWebhooksTable = {
  webhook_id: Once<string>
  removed_at: Once<number>
}

/** The event as JSON, once for all requests that carry it; `requests` counts them, and its unfinished fan-out as one. */
export type EventBodiesTable = {
  event_id: Once<string>
  organization_id: Once<string>
  octets: Once<Buffer>
  requests: number
}

/** Events whose requests are not all written yet: those for the webhooks with ids after `after_webhook` are missing. */
export type FanOutsTable = {
  organization_id: Once<string>
  event_id: Once<string>
  monitor_id: Once<string>
  /** JSON: the ids of those that the event's own transaction left, in their order. */
  webhooks: Once<string>
  after_webhook: string
  /** What payloads can include of the monitor; null where no webhook asks for it. */
  monitor: ColumnType<Json | null, Json | null | undefined, never>
}

/** How much is stored of what an organization's webhooks were sent and answered. */
export type WebhookStorageTable = {
  organization_id: Once<string>
  octets: number
}

/** The processes that share this database, so that the leases of a dead one are known. */
export type ProcessesTable = {
  id: Generated<number>
  pid: number
  machine: string
  started_at: number
  /** When it last said that it lives. */
  seen_at: number
  /** The loops of it that work, comma separated; null until it has said so. */
  loops: Generated<string | null>
  /** What its canary names came to; null without any. */
  network: Generated<'well' | 'captive' | 'gone' | null>
  /** What it reports about itself, for the page of the operators; null until it has said so. */
  report: Generated<Json | null>
  /** Ids of the keys that it knows, comma separated, and of the one that it uses. */
  secret_keys: Generated<string | null>
  secret_key: Generated<string | null>
}

/** How much the database took, every hour. */
export type DatabaseSizesTable = {
  measured_at: Once<number>
  octets: Once<number>
}

/** How often people changed a list of an organization: what the processes tell each other's open pages. */
export type OrganizationChangesTable = {
  organization_id: Once<string>
  list: Once<string>
  number: number
}
