import type { Database } from '../database/database.ts'
import { tableUses } from './sql-scopes.ts'

/**
 * Every table outside of these two lists holds rows of tenants: its primary key, unique keys and foreign keys contain the
 * organization, and each statement for a caller filters by it.
 */

/** Tables whose rows belong to no organization, or are found before the organization is known. */
export const GLOBAL_TABLES: Record<string, string> = {
  migrations: 'the version of the schema',
  organizations: 'the organizations themselves',
  people: 'a user can be a member of several organizations',
  sessions: 'of a user',
  identities: 'who a person is at a provider of single sign-on',
  account_tokens: 'of a user',
  second_factors: 'of a user',
  attempts: 'counts by account and address, before the user is known',
  api_keys: 'found by the hash of the key, before the organization is known',
  agents: 'found by the user at sign-in, before the organization is known',
  invitations: 'found by the token of the link, before the organization is known',
  subscriptions: "found by Stripe's customer, before the organization is known",
  invoices: 'ids of Stripe, which reports them without the organization',
  stripe_events: 'ids of Stripe, before the organization is known',
  mails: 'a mail to a user about their account belongs to no organization',
  hourly_counts: 'counts mails by address and for the whole server, too',
  rate_log: 'counts by key and address',
  processes: 'of the installation',
  due_rounds: 'ranges of slots, each with monitors of all organizations',
  round_gaps: 'of ranges of slots, each with monitors of all organizations',
  secret_check: 'of the installation',
  last_backup: 'of the installation',
  database_sizes: 'of the installation',
}

/** The queues. Loops claim from them across organizations, and no caller reads them. */
export const QUEUE_TABLES: Record<string, string> = {
  due_checks: 'its key is the slot, so that checks that are due together are stored together (decision 4)',
  due_requests: 'one queue for each webhook, which belongs to one organization (decision 5)',
  due_webhooks: 'one row for each webhook, in the order of due_at (decision 5)',
  due_mails: 'one row for each mail that waits',
  due_registrations: 'public data of registries, for all organizations with a zone in the domain',
  removed_webhooks: 'deleted webhooks, until their requests are deleted too',
}

/** Statements for a caller that need no condition on the organization. */
const EXCEPTIONS: readonly { statement: RegExp; reason: string }[] = [
  {
    statement: /where "setup_pages"."token_hash" =/,
    reason: 'a public link: found by the hash of its token, before the organization is known',
  },
  {
    statement: /from "webhook_requests" as "webhook_requests" indexed by \S+ where "webhook_id" =/,
    reason: 'counts up to 2,000 entries of one index; the webhook was read with its organization before',
  },
  {
    statement: /from "monitors" as "monitors" indexed by "monitors_by_group" where "group_id" = \? limit/,
    reason: 'counts up to 2,000 entries of one index; the group was read with its organization before',
  },
]

/** Whether a statement uses a table of tenants' rows without a condition on its organization and without inserting it. */
export function isAcrossOrganizations(statement: string, tenantTables: readonly string[]): boolean {
  if (EXCEPTIONS.some((exception) => exception.statement.test(statement))) return false
  return tableUses(statement, tenantTables).some(({ namesOrganization }) => !namesOrganization)
}

/** Reads the schema. `monitor_search…` are the FTS5 tables of SQLite, which are joined with `monitor_texts`. */
export async function tenantTablesOf(db: Database): Promise<string[]> {
  const tables = await db.introspection.getTables()
  const names = tables.map(({ name }) => name).filter((name) => !name.startsWith('monitor_search'))
  return names.filter((name) => !(name in GLOBAL_TABLES) && !(name in QUEUE_TABLES))
}
