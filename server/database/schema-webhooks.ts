import type { ColumnType, Generated } from 'kysely'
import type { RequestStatus } from '#contract/webhooks.ts'
import type { Bool, Json, Once } from './schema.ts'

export type WebhooksTable = {
  id: Once<string>
  organization_id: Once<string>
  created_at: Once<number>
  url: string
  secret: Buffer
  /** The previous secret, during the grace period of a rotation. */
  previous_secret: Buffer | null
  previous_secret_until: number | null
  headers: Buffer
  is_active: Bool
  state: 'active' | 'paused'
  last_error: string | null
  last_executed_at: number | null
  version: Generated<number>
  /** Incremented by every change of url, headers, secret, `is_active` or `state`. */
  target_version: Generated<number>
  /** The number of queued requests that were dropped because of the limits in number, age or size. */
  dropped: Generated<number>
  /** JSON: the optional fields of its payloads, names of `PAYLOAD_INCLUDES`. */
  payload_includes: Generated<Json>
  /** Whether it receives the events of all groups. */
  all_groups: Generated<Bool>
  /** Whether it receives changes of findings about zones. */
  zone_events: Generated<Bool>
  /** The most events in one request, and how long an event waits for others; null: one request for each event. */
  batch_max_events: number | null
  batch_max_wait_seconds: number | null
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
  /** The bytes to send. If `event_offset` is set, the bytes of the event (`event_bodies`) are inserted there. */
  body: Once<Buffer>
  event_offset: ColumnType<number | null, number | null | undefined, never>
  status: RequestStatus
  attempts: number
  /** Retries of the schedule, at most nine. Probes of a paused webhook do not count. */
  retries: number
  delivered_at: number | null
  status_code: number | null
  error: string | null
  response_body: string | null
  last_attempt_at: number | null
  /** These columns describe the last attempt. */
  timings: Json | null
  /** The next attempt of the schedule; null after the last one. */
  next_attempt_at: number | null
  /** The number of events in a batch, whose first event is in `event_id`; null for a request of one event. */
  events: ColumnType<number | null, number | null | undefined, never>
}

/** The events of batches. An event that waits for its batch has `octets`, the others `request_id`. */
export type BatchedEventsTable = {
  organization_id: Once<string>
  webhook_id: Once<string>
  event_id: Once<string>
  monitor_id: Once<string>
  added_at: Once<number>
  octets: Buffer | null
  request_id: string | null
}

/** All attempts of a request except the last one, which is in the row of the request. */
export type WebhookAttemptsTable = {
  /** Empty in a row of the previous version. */
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
 * When each request is due, in the order of the webhooks, so that each webhook has its own queue. A request has a row here until it is
 * delivered or has failed.
 */
export type DueRequestsTable = {
  webhook_id: Once<string>
  request_id: Once<string>
  due_at: number | null
  claimed_by: number | null
  /** Requested manually: one attempt now, whatever the state of the webhook. */
  is_manual: Bool
}

/** When each webhook must be checked next, so that finding due requests does not read the backlogs. */
export type DueWebhooksTable = {
  webhook_id: Once<string>
  due_at: number | null
  /** When a paused webhook is probed next. */
  probe_at: number | null
  /** After a pause the queued requests are sent in the order of their ids: those after the first id, up to the second. */
  drain_after: string | null
  drain_to: string | null
}

/** Deleted webhooks whose requests are not all deleted yet. */
export type RemovedWebhooksTable = {
  webhook_id: Once<string>
  /** Null in a row of the previous version. */
  organization_id: Once<string | null>
  removed_at: Once<number>
}

/** An event as JSON, shared by its requests. `requests`: their number, plus one for an unfinished fan-out. */
export type EventBodiesTable = {
  event_id: Once<string>
  organization_id: Once<string>
  octets: Once<Buffer>
  requests: number
}

/** Events whose requests are not all written yet. Those for webhooks with ids after `after_webhook` are missing. */
export type FanOutsTable = {
  organization_id: Once<string>
  event_id: Once<string>
  monitor_id: Once<string>
  /** JSON: the ids of the webhooks without a request in the event's transaction, in order. */
  webhooks: Once<string>
  after_webhook: string
  /** JSON: the fields of the monitor that payloads can include, as they were at the event; null if no webhook includes any. */
  monitor: ColumnType<Json | null, Json | null | undefined, never>
}

/** The bytes that the webhook requests of an organization take. */
export type WebhookStorageTable = {
  organization_id: Once<string>
  octets: number
}

/** A row for each counted request, numbered within its bucket, so that concurrent requests cannot share a number. */
export type RateLogTable = {
  /** An API key or a client address, and the class of request. */
  bucket: Once<string>
  number: Once<number>
  counted_at: Once<number>
}

/** A POST with an `Idempotency-Key` and its response, written in the transaction of its changes. */
export type IdempotentRequestsTable = {
  organization_id: Once<string>
  /** Who sent it: the id of the organization for API keys, of the agent for users. */
  key_id: Once<string>
  /** SHA-256 of the caller's `Idempotency-Key`. */
  name: Once<string>
  /** SHA-256 of path, body and role. */
  fingerprint: string
  created_at: number
  /** Null while a request of several steps is not complete. */
  status: number | null
  headers: string | null
  /** Encrypted, because responses can contain secrets. Null without a body, or if it was too large to store. */
  body: Buffer | null
  /** JSON, encrypted: what a response without a stored body is built from, or the progress of the steps. */
  result: Buffer | null
  /** The size of the row, as counted in `idempotency_usage`. */
  octets: number
}

/** The size of all stored responses of an organization. */
export type IdempotencyUsageTable = {
  organization_id: Once<string>
  octets: number
}
