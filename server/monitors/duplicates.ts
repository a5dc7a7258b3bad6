import { sql } from 'kysely'
import type { Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { lockGroups } from '../groups/store.ts'
import { yieldToEventLoop } from '../yield.ts'
import type { MonitorRow } from './monitor.ts'

/** What makes two monitors the same: group, name, type, mode and the set of expected values. */
export type DuplicateFields = Pick<
  MonitorRow,
  'group_id' | 'owner' | 'record_type' | 'is_exact_match' | 'expected_values'
>

/**
 * Those that the organization does not have yet, each once. Of the others `existing` gets, by their ids, the id of the monitor that is the
 * same. Anyone who asks the same for one of the groups waits.
 */
export async function withoutKnown<T extends DuplicateFields & { id: string }>(
  db: Database,
  tenant: Tenant,
  rows: readonly T[],
  existing: Map<string, string>,
): Promise<T[]> {
  const { organizationId } = tenant
  await lockGroups(db, tenant, [...new Set(rows.map(({ group_id }) => group_id))])
  const known = new Map<string, string>()
  const keep = (row: DuplicateFields & { id: string }) => {
    const text = duplicateKey(row)
    if (!known.has(text)) known.set(text, row.id)
  }
  for (const owner of new Set(rows.map((row) => row.owner))) {
    for await (const row of rowsOf(db, organizationId, owner)) keep(row)
  }
  return rows.filter((row) => {
    keep(row)
    const id = known.get(duplicateKey(row))!
    if (id !== row.id) existing.set(row.id, id)
    return id === row.id
  })
}

/** Equal for equal monitors. */
export function duplicateKey({
  group_id,
  owner,
  record_type,
  is_exact_match,
  expected_values,
}: DuplicateFields): string {
  return JSON.stringify([group_id, owner, record_type, is_exact_match, JSON.parse(expected_values).sort()])
}

/** `same`: by `duplicateKey`. `others`: of the same name and type, by `recordKey`; the oldest of them, at most ten for a record. */
export type ExistingMonitors = {
  same: ReadonlySet<string>
  others: ReadonlyMap<string, readonly (DuplicateFields & { id: string })[]>
}

export const recordKey = ({ owner, record_type }: Pick<DuplicateFields, 'owner' | 'record_type'>) =>
  `${owner} ${record_type}`
const MOST_OTHERS = 10

/** What the organization has already of the rows' names. Reads only, and keeps nobody from making one. */
export async function findExisting(
  db: Database,
  { organizationId }: Tenant,
  rows: readonly DuplicateFields[],
): Promise<ExistingMonitors> {
  const wanted = new Set(rows.map(duplicateKey))
  const records = new Set(rows.map(recordKey))
  const same = new Set<string>()
  const others = new Map<string, (DuplicateFields & { id: string })[]>()
  const owners = [...new Set(rows.map(({ owner }) => owner))].sort()
  for (let from = 0; from < owners.length; from += SLICE) {
    for await (const row of rowsOfAll(db, organizationId, owners.slice(from, from + SLICE))) {
      const text = duplicateKey(row)
      if (wanted.has(text)) same.add(text)
      const record = recordKey(row)
      const known = others.get(record) ?? []
      if (wanted.has(text) || !records.has(record) || known.length === MOST_OTHERS) continue
      others.set(record, [...known, row])
    }
  }
  return { same, others }
}

/** Rows read before the event loop is yielded. */
const SLICE = 500

/** A name has few monitors as a rule, but nothing bounds how many. */
async function* rowsOf(db: Database, organizationId: string, owner: string) {
  for (let after = ''; ; ) {
    const rows: (DuplicateFields & { id: string })[] = await db
      .selectFrom('monitors')
      .select(['id', 'group_id', 'owner', 'record_type', 'is_exact_match', 'expected_values'])
      .where('organization_id', '=', organizationId)
      .where('owner', '=', owner)
      .where('id', '>', after)
      .orderBy('id')
      .limit(SLICE)
      .execute()
    yield* rows
    if (rows.length < SLICE) return
    after = rows.at(-1)!.id
    await yieldToEventLoop()
  }
}

/** Of many names, in the order of the index. */
async function* rowsOfAll(
  db: Database,
  organizationId: string,
  owners: readonly string[],
): AsyncGenerator<DuplicateFields & { id: string }> {
  for (let last = { owner: '', id: '' }; ; ) {
    const rows = await db
      .selectFrom('monitors')
      .select(['id', 'group_id', 'owner', 'record_type', 'is_exact_match', 'expected_values'])
      .where('organization_id', '=', organizationId)
      .where(isOneOf(db, 'owner', owners))
      .where(sql<boolean>`(owner, id) > (${last.owner}, ${last.id})`)
      .orderBy('owner')
      .orderBy('id')
      .limit(SLICE)
      .execute()
    yield* rows
    if (rows.length < SLICE) return
    last = rows.at(-1)!
    await yieldToEventLoop()
  }
}
