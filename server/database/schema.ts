import type { ColumnType, Generated } from 'kysely'
import type * as alerts from './schema-alerts.ts'
import type * as jobs from './schema-jobs.ts'
import type * as people from './schema-people.ts'
import type * as setup from './schema-setup.ts'
import type * as requests from './schema-webhooks.ts'
import type * as webhooks from './schema-webhooks.ts'

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
  due_checks: DueChecksTable
  events: EventsTable
  last_event_times: LastEventTimesTable
  webhooks: webhooks.WebhooksTable
  group_webhooks: webhooks.GroupWebhooksTable
  webhook_requests: webhooks.WebhookRequestsTable
  webhook_attempts: webhooks.WebhookAttemptsTable
  batched_events: webhooks.BatchedEventsTable
  due_requests: webhooks.DueRequestsTable
  due_webhooks: webhooks.DueWebhooksTable
  removed_webhooks: webhooks.RemovedWebhooksTable
  event_bodies: webhooks.EventBodiesTable
  fan_outs: webhooks.FanOutsTable
  webhook_storage: webhooks.WebhookStorageTable
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

/** One row: the result of the last backup. On PostgreSQL another program makes it. */
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
  /** A data URL of a PNG, JPEG or WebP. */
  logo: Generated<string | null>
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
  /** The labels of `owner` from the last to the first. Triggers write it. */
  name_order: ColumnType<string | null, never, never>
} & LabelColumns

/**
 * What is due to be checked, in a narrow table in the order of `slot`. Due times follow the slot, so rows that fall due together
 * lie together, and a row is found by its monitor without an index that moves.
 */
type DueChecksTable = {
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
  inconclusive_count: number
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
