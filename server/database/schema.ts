import type { ColumnType, Generated } from 'kysely'
import type { AgentRole } from '#contract/agents.ts'
import type { Billing } from '#contract/organization.ts'
import type { InvoiceStatus, SubscriptionStatus } from '#contract/subscription.ts'

/**
 * Every table, as both engines hold it. Instants are UTC epoch milliseconds, truth values 0 or 1, lists and objects JSON
 * text: so one SQL text and one mapping serve SQLite and PostgreSQL alike.
 */
export type Tables = {
  organizations: OrganizationsTable
  api_keys: ApiKeysTable
  groups: GroupsTable
  monitors: MonitorsTable
  due_checks: DueChecksTable
  events: EventsTable
  webhooks: WebhooksTable
  group_webhooks: GroupWebhooksTable
  webhook_requests: WebhookRequestsTable
  webhook_attempts: WebhookAttemptsTable
  due_requests: DueRequestsTable
  due_webhooks: DueWebhooksTable
  people: PeopleTable
  agents: AgentsTable
  invitations: InvitationsTable
  billing_details: BillingDetailsTable
  subscriptions: SubscriptionsTable
  invoices: InvoicesTable
  stripe_events: StripeEventsTable
  mails: MailsTable
  due_mails: DueMailsTable
  processes: ProcessesTable
  rate_log: RateLogTable
  idempotent_requests: IdempotentRequestsTable
}

type Truth = 0 | 1
type Json = string
type Once<T> = ColumnType<T, T, never>

export type OrganizationsTable = {
  id: Once<string>
  created_at: Once<number>
  name: string
  slug: string
  timezone: Generated<string>
  /** Days; null: as long as the plan allows. */
  event_retention_days: number | null
  alert_emails: Generated<Json>
}

export type ApiKeysTable = {
  id: Once<string>
  organization_id: Once<string>
  created_at: Once<number>
  name: string
  role: 'read' | 'write' | 'admin'
  /** SHA-256 of the key, hex. The key itself is shown once and kept nowhere. */
  hash: string
  created_by: string | null
  last_used_at: number | null
  expires_at: number | null
  revoked_at: number | null
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
}

/** The wide row. A check that finds nothing new does not touch it. */
export type MonitorsTable = {
  id: Once<string>
  organization_id: Once<string>
  group_id: string
  created_at: Once<number>
  domain: string
  subdomain: string
  /** The name that is asked: subdomain and domain joined. */
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
  /** The monitor's place in `due_checks`. */
  slot: number
}

/**
 * What is due to be checked, in a narrow table of its own clustered by `slot`. A monitor's due times follow its slot, so
 * rows that fall due together lie together, and a row is found by its monitor without an index that moves.
 */
export type DueChecksTable = {
  slot: number
  monitor_id: Once<string>
  organization_id: Once<string>
  /** When to check next; while claimed, when the lease runs out; null while the monitor is not active. */
  due_at: number | null
  claimed_by: number | null
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
  /** The bytes to send: written once, with the event. */
  body: Once<Buffer>
  status: 'PENDING' | 'DELIVERED' | 'RETRYING' | 'FAILED'
  attempts: number
  /** Of the schedule's nine; a probe of a paused webhook uses none up. */
  retries: number
  delivered_at: number | null
  status_code: number | null
  error: string | null
  response_body: string | null
  last_attempt_at: number | null
  next_attempt_at: number | null
}

export type WebhookAttemptsTable = {
  request_id: Once<string>
  number: Once<number>
  attempted_at: Once<number>
  status_code: number | null
  error: string | null
  response_body: string | null
  timings: Json
}

/** What is due to be sent, clustered by webhook so that each webhook is a lane of its own. */
export type DueRequestsTable = {
  webhook_id: Once<string>
  due_at: number | null
  request_id: Once<string>
  claimed_by: number | null
}

/** For each webhook, when its earliest request falls due: finding work does not walk one webhook's backlog. */
export type DueWebhooksTable = {
  webhook_id: Once<string>
  due_at: number | null
}

/** The processes that share this database, so that the leases of a dead one are known. */
export type ProcessesTable = {
  id: Generated<number>
  pid: number
  machine: string
  started_at: number
}

/** Who can sign in. One person can be an agent of several organizations. */
export type PeopleTable = {
  id: Once<string>
  created_at: Once<number>
  /** In lower case. */
  email: string
  name: string
  password_hash: string | null
}

/** A person's membership in an organization. `email` repeats the person's, so that a list is read in an index's order. */
export type AgentsTable = {
  id: Once<string>
  organization_id: Once<string>
  person_id: Once<string>
  created_at: Once<number>
  name: string
  email: string
  role: AgentRole
  notification_email: string | null
  last_seen_at: number | null
}

export type InvitationsTable = {
  id: Once<string>
  organization_id: Once<string>
  created_at: Once<number>
  /** In lower case. */
  email: string
  role: AgentRole
  /** How often it was sent; each time with another token. */
  issue: number
  /** SHA-256 of the token of the last issue, hex. */
  token_hash: string
  expires_at: number
  invited_by: string | null
  accepted_at: number | null
  revoked_at: number | null
}

export type BillingDetailsTable = { organization_id: Once<string> } & Billing

/** What an organization pays for. Without a row it has the first free plan. */
export type SubscriptionsTable = {
  organization_id: Once<string>
  /** Null: the plan of those who pay nothing. */
  plan: string | null
  status: SubscriptionStatus
  quantity: number
  current_period_start: number | null
  current_period_end: number | null
  cancel_at: number | null
  stripe_customer: string | null
  stripe_subscription: string | null
  /** When we asked Stripe for what the row says; an older answer does not replace it. */
  as_of: number
}

/** Invoices as Stripe last told them; the amounts in the smallest unit of the currency. */
export type InvoicesTable = {
  /** Stripe's. */
  id: Once<string>
  organization_id: Once<string>
  created_at: number
  number: string | null
  status: InvoiceStatus
  currency: string
  total: number
  amount_due: number
  amount_paid: number
  period_start: number
  period_end: number
  url: string | null
  pdf: string | null
  as_of: number
}

/** Stripe's events that were dealt with, so that one sent again changes nothing. */
export type StripeEventsTable = {
  id: Once<string>
  received_at: Once<number>
}

/** Every mail that was written, sent or not. */
export type MailsTable = {
  id: Once<string>
  organization_id: Once<string>
  created_at: Once<number>
  /** Id of the invitation or webhook. */
  about: Once<string>
  recipient: Once<string>
  /** What the text is made from when the mail is sent; no secrets. */
  content: Once<Json>
  /** `kept`: no mail server is configured, so it stands in the log and here. */
  status: 'waiting' | 'sent' | 'kept' | 'failed'
  attempts: Generated<number>
  error: string | null
  sent_at: number | null
}

/** What is due to be sent by mail. */
export type DueMailsTable = {
  organization_id: Once<string>
  mail_id: Once<string>
  due_at: number | null
  claimed_by: number | null
}

/** One row for each counted request, numbered within its bucket, so that two processes cannot count the same place twice. */
export type RateLogTable = {
  /** An API key or a client address, and the class of request. */
  bucket: Once<string>
  number: Once<number>
  counted_at: Once<number>
}

/** A POST that carried an `Idempotency-Key`: reserved while it runs, then its answer. */
export type IdempotentRequestsTable = {
  organization_id: Once<string>
  /** The API key's id: an answer is given only to the key that it was made for. */
  key_id: Once<string>
  /** SHA-256 of the caller's `Idempotency-Key`. */
  name: Once<string>
  /** SHA-256 of path and body. */
  fingerprint: string
  created_at: number
  /** Until then the request is taken to be running; a process that died does not hold it for ever. */
  leased_until: number
  /** Null while it runs. */
  status: number | null
  headers: Json | null
  /** Sealed, because answers can hold secrets; null without a body, or when it was too large to keep. */
  body: Buffer | null
}
