import type { ColumnType, Generated } from 'kysely'

/** The tables of channels, alert rules, incidents and alerts; the same conventions as `schema.ts`. */

type Truth = 0 | 1
type Json = string
type Once<T> = ColumnType<T, T, never>

export type ChannelsTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  name: string
  type: Once<string>
  /** Without secrets. */
  settings: Json
  /** JSON, sealed; null where the type has none. */
  secrets: Buffer | null
  is_active: Generated<Truth>
  /** Why the last alert was not sent; null when it was. */
  last_error: string | null
  last_sent_at: number | null
  version: Generated<number>
}

export type AlertRulesTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  name: string
  is_active: Generated<Truth>
  /** Null in these five matches everything. */
  group_ids: Json | null
  name_pattern: string | null
  /** All of them. */
  tags: Json | null
  record_types: Json | null
  states: Json | null
  /** How long a monitor must fail. */
  delay_ms: number
  notifies_recovery: Generated<Truth>
  /** How long after a message the next one is sent while nobody acknowledged. */
  repeat_ms: number | null
  /** How long after the first message the escalation channel receives one, while nobody acknowledged. */
  escalate_ms: number | null
  escalation_channel_id: string | null
  /** Minutes of the day in `timezone`; both or none. */
  quiet_from: number | null
  quiet_until: number | null
  timezone: Generated<string>
  digest: 'hourly' | 'daily' | null
  /** Also about monitors that were never valid. */
  first_results: Generated<Truth>
  version: Generated<number>
}

export type AlertRuleChannelsTable = {
  organization_id: Once<string>
  rule_id: Once<string>
  channel_id: Once<string>
}

/** Monitors that fail for one cause at one time. */
export type IncidentsTable = {
  organization_id: Once<string>
  id: Once<string>
  /** What monitors must share to be in one incident; one open incident has it. */
  cause: Once<string>
  zone: Once<string>
  state: Once<string>
  opened_at: Once<number>
  resolved_at: number | null
  acknowledged_at: number | null
  acknowledged_by: string | null
  note: string | null
  /** How many monitors were in it, and how many of them still fail. */
  monitors: number
  failing: number
  /** What its monitors share, where they are of several zones. */
  cause_kind: Generated<CauseKind>
  cause_value: string | null
  /** An agent. */
  assignee_id: string | null
  snoozed_until: number | null
  version: Generated<number>
}

export type CauseKind = 'zone' | 'value' | 'name_server' | 'upstream'

/** Further causes by which monitors join an incident that is open. */
export type IncidentCausesTable = {
  organization_id: Once<string>
  cause: Once<string>
  incident_id: Once<string>
}

export type IncidentEventsTable = {
  organization_id: Once<string>
  event_id: Once<string>
  incident_id: Once<string>
}

export type IncidentEntriesTable = {
  organization_id: Once<string>
  incident_id: Once<string>
  id: Once<string>
  occurred_at: Once<number>
  kind: Once<EntryKind>
  /** Who did it; null for the server. */
  actor: Once<string | null>
  detail: Once<string | null>
  alert_id: Once<string | null>
  channel_id: Once<string | null>
}

export type EntryKind =
  | 'opened'
  | 'sent'
  | 'not_sent'
  | 'acknowledged'
  | 'unacknowledged'
  | 'assigned'
  | 'snoozed'
  | 'noted'
  | 'resolved'

export type IncidentMonitorsTable = {
  organization_id: Once<string>
  incident_id: Once<string>
  monitor_id: Once<string>
  event_id: string
  failing_since: number
  recovered_at: number | null
  /** Never valid before it failed. */
  first_result: Generated<Truth>
  /** When it was deleted, disabled or changed while it failed. */
  left_at: number | null
  /** When a check found that it still fails after it was enabled again; null once it is in an incident for that. */
  returned_at: number | null
}

export type AlertKind = 'failing' | 'recovered' | 'summary' | 'test'
export type AlertStatus = 'PENDING' | 'RETRYING' | 'SENT' | 'FAILED' | 'CANCELED' | 'HELD'

/** One message of one rule to one channel. */
export type AlertsTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  kind: Once<AlertKind>
  /** Null in a summary and a test, as `rule_id`. */
  incident_id: Once<string | null>
  rule_id: Once<string | null>
  channel_id: Once<string>
  /** HELD: over the channel's limit for an hour, and part of its next summary. */
  status: AlertStatus
  attempts: Generated<number>
  /** Of the schedule's nine. */
  retries: Generated<number>
  next_attempt_at: number | null
  /** Set before the attempt, so that what a channel was sent within an hour is never counted too low. */
  last_attempt_at: number | null
  sent_at: number | null
  /** Of the message, once one was made. */
  title: string | null
  error: string | null
  /** JSON: the recipients that have it already, where there are several. */
  progress: Json | null
  /** The summary that a held alert is part of. */
  summary_id: string | null
  /** Sent because nobody acknowledged. */
  escalated: Generated<Truth>
  /** When a person asked to send it again; null once that is done. */
  retry_requested_at: number | null
  /** In a digest, and of a digest: the rule that says so. */
  digest_rule_id: string | null
  /** What the medium calls the first message that it accepted. */
  reference: string | null
  /** How a planned change or a wait ended, with the kind `recovered` and without an incident. */
  information: Once<Json | null>
}

export type AlertAttemptsTable = {
  organization_id: Once<string>
  alert_id: Once<string>
  number: Once<number>
  attempted_at: Once<number>
  status_code: number | null
  error: string | null
  /** What was sent, without secrets. */
  request: string | null
  response_body: string | null
  total_ms: number
}

export type DueAlertsTable = {
  organization_id: Once<string>
  alert_id: Once<string>
  due_at: number | null
  claimed_by: number | null
  was_due_at: Generated<number | null>
}

/** For each organization, up to which event its incidents are made. */
export type DueEvaluationsTable = {
  organization_id: Once<string>
  after_event_id: string
  /** Null while there are no later events. */
  due_at: number | null
  claimed_by: number | null
  was_due_at: Generated<number | null>
}

/** Addresses that alerts are sent to and that belong to no member, and those of members who unsubscribed. */
export type AlertAddressesTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  email: Once<string>
  confirmation_sent_at: number | null
  confirmed_at: number | null
  unsubscribed_at: number | null
}

/** A period in which alerts wait, once or recurring. */
export type MaintenanceWindowsTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  name: string
  /** Null in these three matches everything. */
  monitor_ids: Json | null
  group_ids: Json | null
  name_pattern: string | null
  /** The first occurrence. */
  from_at: number
  to_at: number
  /** Null: once. */
  rrule: string | null
  timezone: string
  /** Null where the rule does not end. */
  last_end_at: number | null
  version: Generated<number>
}

export type ChangeOutcome = 'DONE' | 'NOT_ARRIVED' | 'CANCELED'

/** A monitor's record moves from the old values to the new ones within a period. A monitor has one that is open. */
export type PlannedChangesTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  /** The name of who planned it. */
  created_by: Once<string>
  monitor_id: Once<string>
  old_values: Json
  new_values: Json
  from_at: number
  to_at: number
  /** Null while it is open. */
  outcome: ChangeOutcome | null
  closed_at: number | null
  /** What the last check saw of it. */
  progress: Json | null
  version: Generated<number>
}
