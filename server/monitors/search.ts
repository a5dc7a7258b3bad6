import { type RawBuilder, sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type { Tenant } from '../context.ts'
import { type Database, engineOf } from '../database/database.ts'
import { FEW } from '../database/index-hints.ts'
import { normalizeName } from '../dns/names.ts'
import { invalid } from '../problem.ts'
import { pastedName } from './pasted-name.ts'

/** Names from the first on, up to the second. */
export type NameRange = readonly [from: string, to: string]

/** Sorts behind every character of a stored name. */
const LAST = '\u007f'

/** What begins like this text, written as people write names. Throws a 400 for an empty one. */
export function parseSearch(text: string): NameRange {
  const pasted = pastedName(text)
  if (pasted === '') throw invalid({ search: fieldError('blank_search') })
  const whole = normalizeName(pasted)
  const prefix = whole.ok && whole.name !== '' ? whole.name : pasted.toLowerCase()
  // What ends in a dot is a label that is complete: `www.` does not begin `www2.example.com`.
  const from = pasted.endsWith('.') && !prefix.endsWith('.') && prefix !== pasted ? `${prefix}.` : prefix
  return [from, from + LAST]
}

/** A monitor's whole name or its domain lies in the range. */
export const isInRange = ([from, to]: NameRange): RawBuilder<boolean> =>
  sql<boolean>`((monitors.owner >= ${from} and monitors.owner < ${to})
    or (monitors.domain >= ${from} and monitors.domain < ${to}))`

/** The ids of such monitors, each once, from the two indexes. */
export const foundIds = (db: Database, { organizationId }: Tenant, [from, to]: NameRange): RawBuilder<{ id: string }> =>
  sql`(select id from ${by(db, 'owner')}
      where organization_id = ${organizationId} and owner >= ${from} and owner < ${to}
    union
    select id from ${by(db, 'domain')}
      where organization_id = ${organizationId} and domain >= ${from} and domain < ${to})`
/** The same, at most `most` from either index. */
export function someFoundIds(
  db: Database,
  { organizationId }: Tenant,
  [from, to]: NameRange,
  most: number,
): RawBuilder<{ id: string }> {
  const some = (column: 'owner' | 'domain') => sql`select id from (select id from ${by(db, column)}
    where organization_id = ${organizationId} and ${sql.ref(column)} >= ${from} and ${sql.ref(column)} < ${to}
    limit ${most}) as ${sql.ref(`of_${column}`)}`
  return sql`(${some('owner')} union ${some('domain')})`
}

/** How many there are, counted no further than `FEW` by either index. */
export async function countFound(db: Database, { organizationId }: Tenant, range: NameRange): Promise<number> {
  let most = 0
  for (const column of ['owner', 'domain'] as const) {
    const of = sql.ref(column)
    const { rows } = await sql<{ count: number }>`select count(*) as count from (select 1 as one from ${by(db, column)}
      where organization_id = ${organizationId} and ${of} >= ${range[0]} and ${of} < ${range[1]} limit ${FEW}) as few`.execute(
      db,
    )
    most = Math.max(most, rows[0]!.count)
  }
  return most
}

const by = (db: Database, column: 'owner' | 'domain') =>
  engineOf(db) === 'sqlite' ? sql`monitors indexed by ${sql.ref(`monitors_by_${column}`)}` : sql`monitors`
