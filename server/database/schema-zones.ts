import type { Generated } from 'kysely'
import type { FindingLevel, WithheldReason, ZoneFindingCode, ZoneHealth } from '#contract/zone-codes.ts'
import type { Json, LeaseColumns, Once } from './schema.ts'

/** The tables of zones; conventions of `schema.ts`. */

export type ZonesTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  name: Once<string>
  health: ZoneHealth
  /** JSON: how many findings count, by level, and how many are ignored. */
  counts: Json
  /** JSON list of names; null until the first look with a result. */
  expected_name_servers: Json | null
  /** When a person or key set them; null: learned. */
  confirmed_at: number | null
  /** JSON: `IgnoredFinding[]`. */
  ignored: Json
  /** JSON: what the API shows of the last look with a result. Written when it changes. */
  facts: Json | null
  /** JSON: `ZoneMemory`. Written when it changes. */
  memory: Json
  /** JSON: `ZoneProblem[]`, the confirmed findings that are not ignored, from `warning` on, the most serious first. */
  problems: Generated<Json>
  /** When its health changed, until its incident and alerts follow. */
  evaluate_at: number | null
  withheld_since: number | null
  withheld_reason: WithheldReason | null
  version: Generated<number>
}

export type ZoneFindingsTable = {
  organization_id: Once<string>
  zone_id: Once<string>
  code: Once<ZoneFindingCode>
  /** The name of a name server; empty for the whole zone. */
  about: Once<string>
  level: FindingLevel
  params: Json
  /** JSON: what the first and the confirming look saw. */
  evidence: Json
  first_seen_at: Once<number>
  confirmed_at: number | null
  missing_since: number | null
}

export type ZoneEventsTable = {
  organization_id: Once<string>
  zone_id: Once<string>
  id: Once<string>
  occurred_at: Once<number>
  kind: Once<'began' | 'ended'>
  code: Once<ZoneFindingCode>
  about: Once<string>
  level: Once<FindingLevel>
  params: Once<Json>
}

export type DueZonesTable = {
  organization_id: Once<string>
  zone_id: Once<string>
  name: Once<string>
  /** The last look with a result. */
  last_checked_at: number | null
} & LeaseColumns
