import type { ColumnType, Generated } from 'kysely'
import type { NetworkState } from '#contract/server.ts'
import type * as alerts from './schema-alerts.ts'
import type * as checks from './schema-checks.ts'
import type * as jobs from './schema-jobs.ts'
import type * as people from './schema-people.ts'
import type * as setup from './schema-setup.ts'
import type * as requests from './schema-webhooks.ts'
import type * as webhooks from './schema-webhooks.ts'
import type * as zones from './schema-zones.ts'

/**
 * The tables, which are the same on both engines. Instants are UTC epoch milliseconds, booleans are 0 or 1, lists and objects are JSON
 * texts, so that one SQL text works on SQLite and PostgreSQL.
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
  due_rounds: DueRoundsTable
  round_gaps: checks.RoundGapsTable
  check_gaps: checks.CheckGapsTable
  past_schedules: checks.PastSchedulesTable
  state_days: checks.StateDaysTable
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
  identities: people.IdentitiesTable
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
  hourly_counts: people.HourlyCountsTable
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
  incident_candidates: alerts.IncidentCandidatesTable
  incident_groups: alerts.IncidentGroupsTable
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
  zones: zones.ZonesTable
  zone_findings: zones.ZoneFindingsTable
  zone_events: zones.ZoneEventsTable
  due_registrations: zones.DueRegistrationsTable
  due_zones: zones.DueZonesTable
}

export type Bool = 0 | 1
export type Json = string
/** Set when the row is inserted, and never changed. */
export type Once<T> = ColumnType<T, T, never>

/** The columns of a queue: `lease-queue.ts`. */
export type LeaseColumns = {
  /** While claimed: when the lease expires. Null: not due. */
  due_at: number | null
  claimed_by: number | null
  /** When it was due before the last claim. */
  was_due_at: Generated<number | null>
}

/** One row: a value that proves that a SECRET is the one of the database. */
export type SecretCheckTable = {
  number: Once<number>
  value: Buffer
  /** During a rotation: the ids of keys with which some values may still be encrypted, separated by commas. */
  previous: Generated<string>
}

/** One row: the result of the last backup. On PostgreSQL another program creates backups. */
export type LastBackupTable = {
  number: Once<number>
  tried_at: number
  /** Null if it succeeded. */
  error: string | null
  /** These columns describe the last successful backup; null if there is none. */
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
  /** Days; null: the maximum of the plan. */
  event_retention_days: number | null
  alert_emails: Generated<Json>
  /** A data URL of a PNG, JPEG or WebP. */
  logo: Generated<string | null>
  /** A deleted channel or webhook has received something. Not part of the version: nobody edits it. */
  has_received: Generated<Bool>
  version: Generated<number>
  /** Until `deletion_at`, an owner can cancel the deletion. Null: nobody requested one. */
  deletion_at: Generated<number | null>
  deletion_requested_at: Generated<number | null>
  /** The name of who requested it. */
  deletion_requested_by: Generated<string | null>
  /** When the deletion last deleted something; null: it has not begun. */
  deletion_worked_at: Generated<number | null>
}

export type GroupsTable = {
  id: Once<string>
  organization_id: Once<string>
  created_at: Once<number>
  name: string
  slug: string
  is_default: Bool
  /** The number of monitors, updated with each change, so that a page need not count rows. */
  monitors: number
  version: Generated<number>
} & LabelColumns

/** The columns of monitors and groups that older versions of the program do not write. */
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

/** The searched text of each monitor. Triggers write it. On SQLite its column `number` is the key of the trigram index. */
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

/** The wide row. A check without a change does not write it. */
export type MonitorsTable = {
  id: Once<string>
  organization_id: Once<string>
  group_id: string
  created_at: Once<number>
  domain: string
  subdomain: string
  /** The queried name: `subdomain` and `domain`. */
  owner: string
  record_type: string
  expected_values: Json
  is_exact_match: Bool
  is_active: Bool
  notify: string
  /** Minutes. */
  frequency: number
  /** `auto`, `public` or `resolvers`. */
  resolution: Generated<string>
  state: string
  current_values: Json | null
  incidence_count: number
  /** The evidence of the check that found `state`. */
  diagnosis: Json | null
  rotation: Json | null // see checks/rotation.ts
  /** Whether it was valid before its definition last changed. A first result that fails then opens an incident. */
  was_valid: Generated<Bool>
  /** The key of the monitor's row in `due_checks`. */
  slot: number
  version: Generated<number>
  /** The labels of `owner` in reverse order. Triggers write it. */
  name_order: ColumnType<string | null, never, never>
} & LabelColumns

/**
 * When each monitor is due, in a narrow table in the order of `slot`. Due times follow the slots, so rows that are due together are
 * stored together. A disabled monitor is not due.
 */
type DueChecksTable = {
  slot: Once<number>
  monitor_id: Once<string>
  organization_id: Once<string>
  /** These columns are all that a check without a change needs. */
  owner: string
  record_type: string
  is_exact_match: Bool
  frequency: number
  /** Of the recorded outcome; null if the next outcome must be evaluated in any case. */
  fingerprint: number | null
  /** How many checks in a row had the current state. */
  streak: number
  /** How many checks in a row were inconclusive. */
  inconclusive_count: number
  last_checked_at: number | null
  /** When the first of the postponed or withheld checks ran; null after a completed check. */
  postponed_since: number | null
  /** The open planned change of the monitor. */
  planned_change_id: Generated<string | null>
  /** The first round that counts for a monitor that is checked in rounds. Then it has no `due_at`, and `streak` and `last_checked_at` are from before. */
  since_round: Generated<number | null>
  /** When it joined the rounds. What was late or missed before is in `check_gaps`. */
  joined_at: Generated<number | null>
} & LeaseColumns

/** The ranges of slots that are checked in rounds: monitors/rounds.ts. */
type DueRoundsTable = {
  /** Of the monitors in it, in minutes. */
  frequency: Once<number>
  first_slot: Once<number>
  until_slot: number
  /** The last finished round, and when it began. */
  round: number
  started_at: number
  /** When the next round is to begin, also while it is claimed. */
  planned_at: number
} & LeaseColumns

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
  is_exact_match: Bool
  diagnosis: Json | null
  /** Whether values were shortened to the limit of an event. */
  truncated: Generated<Bool>
  /** Whether the event reports the end of a wait without a change. */
  timed_out: Generated<Bool>
}

/** The time in the newest event id of an organization. Transactions that create event ids lock the row. */
export type LastEventTimesTable = {
  organization_id: Once<string>
  last_at: number
}

/** The processes that share this database. A dead one's leases can then be released. */
export type ProcessesTable = {
  id: Generated<number>
  pid: number
  machine: string
  started_at: number
  /** The time of the last heartbeat. */
  seen_at: number
  /** The running loops, separated by commas; null until the first report. */
  loops: Generated<string | null>
  /** Of the previous version. */
  network: Generated<string | null>
  /** The result of the canary names; null if there are none. */
  network_state: Generated<NetworkState | null>
  /** The report for the Server page; null until the first one. */
  report: Generated<Json | null>
  /** The ids of the keys that it knows, separated by commas, and of the key that it uses. */
  secret_keys: Generated<string | null>
  secret_key: Generated<string | null>
}

/** The size of the database, every hour. */
export type DatabaseSizesTable = {
  measured_at: Once<number>
  octets: Once<number>
}

/** How often users changed a list of an organization. Processes poll it to update open pages. */
export type OrganizationChangesTable = {
  organization_id: Once<string>
  list: Once<string>
  number: number
}
