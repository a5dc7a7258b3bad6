import type { Generated } from 'kysely'
import type { AgentRole } from '#contract/agents.ts'
import type { AuditActor } from '#contract/audit-log.ts'
import type { Billing } from '#contract/organization.ts'
import type { InvoiceStatus, SubscriptionStatus } from '#contract/subscription.ts'
import type { View } from '#contract/views.ts'
import type { Bool, Json, LeaseColumns, Once } from './schema.ts'

/** The tables of accounts, billing, mails and the audit log; the same conventions as `schema.ts`. */

/** The users. A user can be an agent of several organizations. */
export type PeopleTable = {
  id: Once<string>
  created_at: Once<number>
  /** In lower case. */
  email: string
  name: string
  /** The scrypt hash; null if the user cannot sign in yet. */
  password_hash: Generated<string | null>
  email_verified: Generated<Bool>
  two_factor_enabled: Generated<Bool>
  updated_at: number
}

/** The sessions. The cookie contains the token; the database only its hash. */
export type SessionsTable = {
  id: Once<string>
  token_hash: Once<string>
  person_id: Once<string>
  created_at: Once<number>
  expires_at: number
  /** Whether it outlives the browser, and is extended while it is used. */
  is_persistent: Once<Bool>
  address: Once<string>
  user_agent: Once<string | null>
  /** The id of the single sign-on that it came through; null after a password. */
  provider: Once<string | null>
}

/** Who a user is at a provider of single sign-on. */
export type IdentitiesTable = {
  issuer: Once<string>
  /** The provider's own id of the user. */
  subject: Once<string>
  person_id: Once<string>
  created_at: Once<number>
  last_used_at: number
}

/** Tokens in links and cookies, until they are used or expire. */
export type AccountTokensTable = {
  token_hash: Once<string>
  purpose: Once<'reset-password' | 'change-email' | 'sign-up' | 'pending-sign-in' | 'trusted-browser'>
  /** Null if the account does not exist yet. */
  person_id: Once<string | null>
  content: Once<Json>
  expires_at: Once<number>
}

export type SecondFactorsTable = {
  person_id: Once<string>
  /** The secret and the recovery codes, encrypted with SECRET. */
  sealed: Buffer
  /** The time step of the last accepted code. RFC 6238 section 4.2. */
  last_step: Generated<number>
}

/** Recent failed sign-ins for an account or from an address, and when the next attempt is allowed. */
export type AttemptsTable = {
  subject: Once<string>
  count: number
  last_attempt_at: number
  next_attempt_at: number
}

/** How often something happened since the period began: mails to an address, for example. */
export type HourlyCountsTable = {
  subject: Once<string>
  since: number
  count: number
}

/** A user's membership in an organization. `email` is a copy of the user's, so that an index can order lists by it. */
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
  /** How often it was sent. Each mail has a new token. */
  issue: number
  /** SHA-256 of the last token, hex. */
  token_hash: string
  expires_at: number
  invited_by: string | null
  accepted_at: number | null
  revoked_at: number | null
}

export type BillingDetailsTable = { organization_id: Once<string>; version: Generated<number> } & Billing

/** The subscription of an organization. Without a row it has the first free plan. */
export type SubscriptionsTable = {
  organization_id: Once<string>
  /** Null: the first free plan. */
  plan: string | null
  status: SubscriptionStatus
  quantity: number
  current_period_start: number | null
  current_period_end: number | null
  cancel_at: number | null
  stripe_customer: string | null
  /** The current subscription at Stripe; null if there is none. */
  stripe_subscription: string | null
  /** When that subscription was created. */
  subscribed_at: number | null
  /** When this state was requested from Stripe. An older response does not replace it. */
  as_of: number
}

/** The last known invoices of Stripe. Amounts are in the smallest unit of the currency. */
export type InvoicesTable = {
  /** Stripe's id. */
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

/** The processed events of Stripe, so that a repeated one changes nothing. */
export type StripeEventsTable = {
  id: Once<string>
  received_at: Once<number>
}

/** All mails, sent or not. */
export type MailsTable = {
  id: Once<string>
  /** Null for a mail about the recipient's account. */
  organization_id: Once<string | null>
  created_at: Once<number>
  /** The id of the invitation, the webhook or the link. */
  about: Once<string>
  recipient: Once<string>
  /** JSON: the content from which the text is built when the mail is sent. Without secrets. */
  content: Once<Json>
  /** `kept`: not sent, because there is no mail server. The log and the dashboard show it. */
  status: 'waiting' | 'sent' | 'kept' | 'failed'
  attempts: Generated<number>
  error: string | null
  sent_at: number | null
}

/** When each unsent mail is due. */
export type DueMailsTable = {
  /** Empty if the mail has none. */
  organization_id: Once<string>
  mail_id: Once<string>
} & LeaseColumns

/** The audit log. One row for each request, also if it changed several objects. */
export type AuditLogTable = {
  organization_id: Once<string>
  /** Begins with the time, so that ids have the order of `occurred_at`. */
  id: Once<string>
  occurred_at: Once<number>
  actor_type: Once<AuditActor>
  /** The id of an agent or a key. */
  actor_id: Once<string>
  /** The name of the actor at that time. */
  actor_label: Once<string>
  action: Once<string>
  object_type: Once<string>
  /** Null if the request changed several objects. */
  object_id: Once<string | null>
  object_label: Once<string | null>
  object_count: number
  /** The ids of several objects, at most 100. */
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
  /** SHA-256 of the key, hex. The key itself is returned once and not stored. */
  hash: string
  /** The agent who created the key, or who created the key with which it was created. */
  created_by: string | null
  last_used_at: number | null
  expires_at: number | null
  revoked_at: number | null
  version: Generated<number>
  /** JSON: requests per minute, for each class with a separate limit. */
  limits: string | null
  /** Null if `limits` is. KEY_LIMIT_MAX applies to limits that an owner set. */
  limits_by: 'owner' | 'operator' | null
  created_by_key: string | null
  rotated_at: number | null
  /** The hash of the key before the last rotation, which is valid until `previous_until`. */
  previous_hash: string | null
  previous_until: number | null
}

/** Saved views of the list of monitors. */
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
