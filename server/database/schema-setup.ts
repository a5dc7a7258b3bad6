import type { Generated } from 'kysely'
import type { Json, LeaseColumns, Once } from './schema.ts'

/** The tables of monitors that wait for their records, and of the public pages for customers; conventions of `schema.ts`. */

export type SetupPagesTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  /** The key that the organization chose; null for the page of one monitor. */
  key: string | null
  /** SHA-256 of the token in the link, hex. */
  token_hash: string
  /** The token, encrypted, so that members can copy the link again. */
  token: Buffer
  expires_at: number
  version: Generated<number>
}

/** The last wait of a monitor with `until`. */
export type WaitsTable = {
  organization_id: Once<string>
  monitor_id: Once<string>
  page_id: string | null
  started_at: number
  deadline_at: number
  ended_at: number | null
  /** Null while it waits. */
  result: 'valid' | 'timed_out' | 'stopped' | null
  /** How often the name servers of the zone were queried. */
  check_count: Generated<number>
  /** JSON: their last answers (`QuickCheckResult`). */
  seen: Json | null
  seen_at: number | null
}

export type DueWaitsTable = {
  organization_id: Once<string>
  monitor_id: Once<string>
} & LeaseColumns
