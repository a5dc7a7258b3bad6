import type { ColumnType, Generated } from 'kysely'
import type { AgentRole } from '#contract/agents.ts'
import type { Billing } from '#contract/organization.ts'
import type { InvoiceStatus, SubscriptionStatus } from '#contract/subscription.ts'
import type { View } from '#contract/views.ts'

/** The tables of people, money and mail; the same conventions as `schema.ts`. */

type Truth = 0 | 1
type Json = string
type Once<T> = ColumnType<T, T, never>

/** Who can sign in. One person can be an agent of several organizations. */
export type PeopleTable = {
  id: Once<string>
  created_at: Once<number>
  /** In lower case. */
  email: string
  name: string
  /** As scrypt left it; null for one who cannot sign in yet. */
  password_hash: Generated<string | null>
  email_verified: Generated<Truth>
  two_factor_enabled: Generated<Truth>
  updated_at: number
}

/** Where a person is signed in. The cookie carries the token; only its hash is kept. */
export type SessionsTable = {
  id: Once<string>
  token_hash: Once<string>
  person_id: Once<string>
  created_at: Once<number>
  expires_at: number
  /** Whether it outlives the browser, and is prolonged while it is used. */
  is_persistent: Once<Truth>
  address: Once<string>
  user_agent: Once<string | null>
}

/** What a link or a cookie stands for until it is used or expires. */
export type AccountTokensTable = {
  token_hash: Once<string>
  purpose: Once<'reset-password' | 'change-email' | 'sign-up' | 'pending-sign-in' | 'trusted-browser'>
  /** Null while there is no account yet. */
  person_id: Once<string | null>
  content: Once<Json>
  expires_at: Once<number>
}

export type SecondFactorsTable = {
  person_id: Once<string>
  /** The secret and the backup codes, sealed under the server's SECRET. */
  sealed: Buffer
  /** Of the last code that was accepted: RFC 6238 section 4.2. */
  last_step: Generated<number>
}

/** How often a secret was tried lately for one account or from one address, and when the next try is free. */
export type AttemptsTable = {
  subject: Once<string>
  count: number
  last_attempt_at: number
  next_attempt_at: number
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
  version: Generated<number>
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

export type BillingDetailsTable = { organization_id: Once<string>; version: Generated<number> } & Billing

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
  /** The one that is paid for now; null when none is. */
  stripe_subscription: string | null
  /** When that one was made. */
  subscribed_at: number | null
  /** When we asked Stripe for what the row says; an older answer does not replace it. */
  as_of: number
  version: Generated<number>
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
  /** Null: to a person about the own account. */
  organization_id: Once<string | null>
  created_at: Once<number>
  /** Id of the invitation, the webhook or the link. */
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
  /** Empty without one. */
  organization_id: Once<string>
  mail_id: Once<string>
  due_at: number | null
  claimed_by: number | null
  was_due_at: Generated<number | null>
}

/** Who changed what, and from where. One row for each call, also where it changed many things. */
export type AuditLogTable = {
  organization_id: Once<string>
  /** Begins with the time, so that the order of ids is that of `occurred_at`. */
  id: Once<string>
  occurred_at: Once<number>
  actor_type: Once<'person' | 'key' | 'system' | 'operator'>
  /** An agent's or a key's id. */
  actor_id: Once<string>
  /** What the actor was called then. */
  actor_label: Once<string>
  action: Once<string>
  object_type: Once<string>
  /** Null where one call made or changed several. */
  object_id: Once<string | null>
  object_label: Once<string | null>
  object_count: number
  /** Of several objects, a hundred at most. */
  object_ids: Json
  /** The changed fields before and after, without secrets. */
  changed_from: Json | null
  changed_to: Json | null
  address: Once<string | null>
  request_id: Once<string | null>
}

export type ApiKeysTable = {
  id: Once<string>
  organization_id: Once<string>
  created_at: Once<number>
  name: string
  role: 'read' | 'write' | 'admin'
  /** SHA-256 of the key, hex. The key itself is shown once and kept nowhere. */
  hash: string
  /** The agent; of a key that another key made, the agent who made that one. */
  created_by: string | null
  last_used_at: number | null
  expires_at: number | null
  revoked_at: number | null
  version: Generated<number>
  /** JSON: the classes that have a limit of their own, in requests per minute. */
  limits: string | null
  /** Null with `limits`. What an owner set is bounded by KEY_LIMIT_MAX. */
  limits_by: 'owner' | 'operator' | null
  created_by_key: string | null
  rotated_at: number | null
  /** Of the key before the last rotation, which works until `previous_until`. */
  previous_hash: string | null
  previous_until: number | null
}

/** Saved lists of monitors. */
export type ViewsTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  created_by: Once<string>
  name: string
  filter: Json
  order_by: View['order_by']
  order_way: View['order_way']
  columns: Json | null
  density: View['density']
  version: Generated<number>
}
