import type { Generated } from 'kysely'
import type {
  FindingLevel,
  RegistrationProblem,
  WithheldReason,
  ZoneFindingCode,
  ZoneHealth,
} from '#contract/zone-codes.ts'
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

/** The registration of a domain, for all organizations with a zone in it: what a registry publishes is no secret of theirs. */
export type DueRegistrationsTable = {
  domain: Once<string>
  /** The looks at its zones extend it. After that, the row is deleted. */
  wanted_until: number
  /** JSON: `RegistrationFacts`, as two look-ups saw them. */
  facts: Json | null
  /** JSON: what the last look-up saw, if that is something else. */
  pending: Json | null
  /** The last look-up that saw `facts`. */
  looked_up_at: number | null
  /** Why the last look-up has no result. */
  problem: RegistrationProblem | null
  /** How many look-ups in a row have failed. */
  failures: Generated<number>
  /** Since when a look-up waits for the RDAP server to be free. */
  requested_at: number | null
} & LeaseColumns
