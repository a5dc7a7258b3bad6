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
  /** Null in these four matches everything. */
  group_ids: Json | null
  name_pattern: string | null
  record_types: Json | null
  states: Json | null
  /** How long a monitor must fail. */
  delay_ms: number
  notifies_recovery: Generated<Truth>
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
  version: Generated<number>
}

export type IncidentMonitorsTable = {
  organization_id: Once<string>
  incident_id: Once<string>
  monitor_id: Once<string>
  event_id: string
  failing_since: number
  recovered_at: number | null
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
