import type { Generated } from 'kysely'
import type { AlertStatus, EntryKind } from '#contract/incidents.ts'
import type { ZoneHealth } from '#contract/zone-codes.ts'
import type { Bool, Json, LeaseColumns, Once } from './schema.ts'

/** The tables of channels, alert rules, incidents and alerts; the same conventions as `schema.ts`. */

export type ChannelsTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  name: string
  type: Once<string>
  /** Without secrets. */
  settings: Json
  /** JSON, encrypted; null if the type has no secrets. */
  secrets: Buffer | null
  is_active: Generated<Bool>
  /** Why the last alert was not sent; null if it was. */
  last_error: string | null
  last_sent_at: number | null
  version: Generated<number>
}

export type AlertRulesTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  name: string
  is_active: Generated<Bool>
  /** In these five columns null matches everything. */
  group_ids: Json | null
  name_pattern: string | null
  /** The monitor must have all of them. */
  tags: Json | null
  record_types: Json | null
  states: Json | null
  /** The health of zones that the rule matches, unless it has `group_ids` or `tags`, which zones have not. */
  zone_levels: Generated<Json>
  /** How long a monitor must fail. */
  delay_ms: number
  notifies_recovery: Generated<Bool>
  /** How long after a message the next one is sent, if nobody acknowledged. */
  repeat_ms: number | null
  /** How long after the first message the escalation channel receives one, if nobody acknowledged. */
  escalate_ms: number | null
  escalation_channel_id: string | null
  /** Minutes of the day in `timezone`; both or neither. */
  quiet_from: number | null
  quiet_until: number | null
  timezone: Generated<string>
  digest: 'hourly' | 'daily' | null
  /** Whether the rule also matches monitors that were never valid. */
  first_results: Generated<Bool>
  version: Generated<number>
}

export type AlertRuleChannelsTable = {
  organization_id: Once<string>
  rule_id: Once<string>
  channel_id: Once<string>
}

/** Monitors that fail at the same time for the same cause. */
export type IncidentsTable = {
  organization_id: Once<string>
  id: Once<string>
  /** What its monitors share. At most one open incident has the cause. */
  cause: Once<string>
  zone: Once<string>
  state: Once<string>
  opened_at: Once<number>
  resolved_at: number | null
  acknowledged_at: number | null
  acknowledged_by: string | null
  note: string | null
  /** The number of all its monitors, and of those that still fail. */
  monitors: number
  failing: number
  /** How many of its monitors are zones, and the worst health that one of them had. */
  zones: Generated<number>
  zone_level: ZoneHealth | null
  /** What its monitors share, if they belong to several zones. */
  cause_kind: Generated<CauseKind>
  cause_value: string | null
  /** The id of an agent. */
  assignee_id: string | null
  snoozed_until: number | null
  version: Generated<number>
}

export type CauseKind = 'zone' | 'value' | 'name_server' | 'upstream' | 'target' | 'provider' | 'parent'

/** Additional causes by which monitors join an open incident. */
export type IncidentCausesTable = {
  organization_id: Once<string>
  cause: Once<string>
  incident_id: Once<string>
}

/** What zones may have in common. Several incidents within a few minutes are evidence that it is their cause. */
export type IncidentCandidatesTable = {
  organization_id: Once<string>
  cause: Once<string>
  failed_at: Once<number>
  incident_id: Once<string>
}

/** The groups that the monitors of an incident had when they failed. */
export type IncidentGroupsTable = {
  organization_id: Once<string>
  group_id: Once<string>
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
  /** The agent, key or channel; null for the server. */
  actor: Once<string | null>
  detail: Once<string | null>
  alert_id: Once<string | null>
  channel_id: Once<string | null>
}

export type IncidentMonitorsTable = {
  organization_id: Once<string>
  incident_id: Once<string>
  /** Or the id of a zone. */
  monitor_id: Once<string>
  event_id: string
  failing_since: number
  recovered_at: number | null
  /** Whether it was never valid before it failed. */
  first_result: Generated<Bool>
  /** When it was deleted, disabled or changed while it failed. */
  left_at: number | null
  /** When a check found that it still fails after it was enabled again; null after it has joined an incident. */
  returned_at: number | null
}

export type AlertKind = 'failing' | 'recovered' | 'summary' | 'test'

/** A message of a rule to a channel. */
export type AlertsTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  kind: Once<AlertKind>
  /** Null for summaries and tests, like `rule_id`. */
  incident_id: Once<string | null>
  rule_id: Once<string | null>
  channel_id: Once<string>
  /** HELD: over the hourly limit of the channel, and part of its next summary. */
  status: AlertStatus
  attempts: Generated<number>
  /** Retries of the schedule, at most nine. */
  retries: Generated<number>
  next_attempt_at: number | null
  /** Set before the attempt, so that the messages of the last hour are never counted too low. */
  last_attempt_at: number | null
  sent_at: number | null
  /** The title of the message; null until it was built. */
  title: string | null
  error: string | null
  /** JSON: the recipients that have already received it, if there are several. */
  progress: Json | null
  /** The summary that includes the held alert. */
  summary_id: string | null
  /** How many monitors of the incident the last message said. */
  announced_monitors: number | null
  /** The worst health of zones that it said. */
  announced_level: ZoneHealth | null
  /** Whether it is an escalation, because nobody acknowledged. */
  escalated: Generated<Bool>
  /** When a user requested to send it again; null after that attempt. */
  retry_requested_at: number | null
  /** The rule with the digest; set for the digest and for the alerts in it. */
  digest_rule_id: string | null
  /** The provider's id of the first message. */
  reference: string | null
  /** JSON: how a planned change or a wait ended. The alert then has the kind `recovered` and no incident. */
  information: Once<Json | null>
}

export type AlertAttemptsTable = {
  organization_id: Once<string>
  alert_id: Once<string>
  number: Once<number>
  attempted_at: Once<number>
  status_code: number | null
  error: string | null
  /** The request, without secrets. */
  request: string | null
  response_body: string | null
  total_ms: number
}

export type DueAlertsTable = {
  organization_id: Once<string>
  alert_id: Once<string>
  /** Null in rows that an older version wrote. */
  channel_id: string | null
} & LeaseColumns

/** For each organization, the last event that its incidents include. Due if there are later ones. */
export type DueEvaluationsTable = {
  organization_id: Once<string>
  after_event_id: string
} & LeaseColumns

/** Addresses of people who are not members, and of members who unsubscribed. */
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
  /** In these three columns null matches everything. */
  monitor_ids: Json | null
  group_ids: Json | null
  name_pattern: string | null
  /** The first occurrence. */
  from_at: number
  to_at: number
  /** Null if it does not recur. */
  rrule: string | null
  timezone: string
  /** Null if the rule does not end, or if its last occurrence is not computed yet. */
  last_end_at: number | null
  /** The next occurrences (`stored-occurrences.ts`). Null if they were not computed yet. */
  expansion: Json | null
  version: Generated<number>
}

export type ChangeOutcome = 'DONE' | 'NOT_ARRIVED' | 'CANCELED'

/** A change of a monitor's record from the old to the new values, within a period. A monitor has at most one open change. */
export type PlannedChangesTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  /** The name of the agent or key that created it. */
  created_by: Once<string>
  monitor_id: Once<string>
  /** The job that planned it. Its row is deleted before. */
  job_id: Once<string | null>
  old_values: Json
  new_values: Json
  from_at: number
  to_at: number
  /** Null while the change is open. */
  outcome: ChangeOutcome | null
  closed_at: number | null
  /** JSON: the progress that the last check found. */
  progress: Json | null
  version: Generated<number>
}
