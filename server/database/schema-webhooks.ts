import type { ColumnType, Generated } from 'kysely'

type Once<T> = ColumnType<T, T, never>
type Truth = 0 | 1
type Json = string

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
  /** Events in one request at most, and how long one waits for others; null where each has a request of its own. */
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
  /** The bytes to send, or those around the event's (`event_bodies`), which go in at `event_offset`. */
  body: Once<Buffer>
  event_offset: ColumnType<number | null, number | null | undefined, never>
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
  /** Of a batch, which has its first event in `event_id`; null for a request of one event. */
  events: ColumnType<number | null, number | null | undefined, never>
}

/** The events of batches: those that wait for one have `octets`, the others `request_id`. */
export type BatchedEventsTable = {
  organization_id: Once<string>
  webhook_id: Once<string>
  event_id: Once<string>
  monitor_id: Once<string>
  added_at: Once<number>
  octets: Buffer | null
  request_id: string | null
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
  is_manual: Truth
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

/** One row for each counted request, numbered within its bucket, so that two processes cannot count the same place twice. */
export type RateLogTable = {
  /** An API key or a client address, and the class of request. */
  bucket: Once<string>
  number: Once<number>
  counted_at: Once<number>
}

/** A POST that carried an `Idempotency-Key` and its answer, written in the transaction of what it changed. */
export type IdempotentRequestsTable = {
  organization_id: Once<string>
  /** Whose key it is: the organization's id, of people the agent's. */
  key_id: Once<string>
  /** SHA-256 of the caller's `Idempotency-Key`. */
  name: Once<string>
  /** SHA-256 of path, body and role. */
  fingerprint: string
  created_at: number
  /** Null where the request works in steps and is not done. */
  status: number | null
  headers: string | null
  /** Sealed, because answers can hold secrets; null without a body, or when it was too large to keep. */
  body: Buffer | null
  /** JSON, sealed: what to answer from where the body is not kept, or how far the steps came. */
  result: Buffer | null
  /** What the row takes, as `idempotency_usage` counts it. */
  octets: number
}

/** What the answers that are kept for an organization take together. */
export type IdempotencyUsageTable = {
  organization_id: Once<string>
  octets: number
}
