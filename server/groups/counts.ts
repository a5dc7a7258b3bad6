import { sql } from 'kysely'
import { MOST_COUNTED, type MonitorCounts } from '#contract/monitor-list.ts'
import type { Tenant } from '../context.ts'
import { type Database, engineOf } from '../database/database.ts'

// In the words of the migration, so that the partial index is used.
const IS_NOT_VALID = sql.raw<boolean>("(is_active = 0 or state <> 'VALID')")

type GroupSize = { id: string; monitors: number }
type Counted = { state: string; is_active: number; count: number }

/**
 * By the id of the group. The enabled monitors in VALID are those that are left of all: the others, of which there are few, are counted, at
 * most `MOST_COUNTED`.
 */
export async function countByGroup(
  db: Database,
  { organizationId }: Tenant,
  groups: readonly GroupSize[],
): Promise<Map<string, MonitorCounts>> {
  if (groups.length === 0) return new Map()
  const monitors = engineOf(db) === 'sqlite' ? sql`monitors indexed by monitors_not_valid_in_group` : sql`monitors`
  const each = groups.map(
    ({ id }) => sql`select group_id, state, is_active, count(*) as count from (
      select group_id, state, is_active from ${monitors}
        where group_id = ${id} and organization_id = ${organizationId} and ${IS_NOT_VALID} limit ${MOST_COUNTED}) as few
      group by group_id, state, is_active`,
  )
  const { rows } = await sql<Counted & { group_id: string }>`${sql.join(each, sql` union all `)}`.execute(db)
  const byGroup = Map.groupBy(rows, ({ group_id }) => group_id)
  return new Map(
    groups.map(({ id, monitors }) => {
      const others = byGroup.get(id) ?? []
      const count = sumOf(others.map((row) => row.count))
      const isPartial = count >= MOST_COUNTED
      const valid = { state: 'VALID', is_active: 1, count: isPartial ? 0 : Math.max(0, monitors - count) }
      return [id, countsOf([...others, valid], isPartial)]
    }),
  )
}

export function countsOf(rows: readonly Counted[], isPartial: boolean): MonitorCounts {
  const active = rows.filter(({ is_active, count }) => is_active === 1 && count > 0)
  return {
    states: Object.fromEntries(active.map(({ state, count }) => [state, count])),
    active: sumOf(active.map(({ count }) => count)),
    disabled: sumOf(rows.map(({ is_active, count }) => (is_active === 0 ? count : 0))),
    is_partial: isPartial,
  }
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0)
