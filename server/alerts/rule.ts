import type { Selectable } from 'kysely'
import { sql } from 'kysely'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { AlertRulesTable } from '../database/schema-alerts.ts'
import { tagLabel } from '../groups/labels.ts'
import { globOf, nameIsLike } from './name-pattern.ts'

/** What a rule says about monitors, as the database holds it. */
export type RuleFilters = Pick<
  Selectable<AlertRulesTable>,
  'group_ids' | 'name_pattern' | 'tags' | 'record_types' | 'states'
>

/** A failure as a rule looks at it. */
export type Failure = { groupId: string; name: string; tags: readonly string[]; recordType: string; state: string }

/** Whether the rule is about the failure. */
export function matcherOf(filters: RuleFilters): (failure: Failure) => boolean {
  const mismatch = mismatchOf(filters)
  const allowed = setOf(filters.states)
  return (failure) => mismatch(failure) === null && (!allowed || allowed.has(failure.state))
}

/** The tags of monitors as they are now, by the monitor. */
export async function tagsOf(
  db: Database,
  organizationId: string,
  monitorIds: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await db
    .selectFrom('monitors')
    .select(['id', 'tags'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', monitorIds))
    .execute()
  return new Map(rows.map(({ id, tags }) => [id, listOf(tags)]))
}

/** Which of its fields keeps the rule from being about a monitor, whatever the failure; null if none does. */
export function mismatchOf({
  group_ids,
  name_pattern,
  tags: wanted,
  record_types,
}: RuleFilters): (monitor: Omit<Failure, 'state'>) => 'group' | 'type' | 'tag' | 'name' | null {
  const [groups, types] = [group_ids, record_types].map(setOf)
  const all = wanted === null ? [] : listOf(wanted)
  const pattern = name_pattern === null ? null : globOf(name_pattern)
  return ({ groupId, name, tags, recordType }) => {
    if (groups && !groups.has(groupId)) return 'group'
    if (types && !types.has(recordType)) return 'type'
    if (!all.every((tag) => tags.includes(tag))) return 'tag'
    return pattern && !pattern.test(name) ? 'name' : null
  }
}

/** The same in SQL, for a statement over `incident_monitors` joined with `monitors` and, as their last failure, `events` if that is kept. */
export function matchesFailing({
  group_ids,
  name_pattern,
  tags,
  record_types,
  states,
  first_results,
}: RuleFilters & Pick<Selectable<AlertRulesTable>, 'first_results'>) {
  const terms = [sql`1 = 1`]
  if (first_results === 0) terms.push(sql`incident_monitors.first_result = 0`)
  if (group_ids !== null) terms.push(sql`monitors.group_id in (${sql.join(listOf(group_ids))})`)
  for (const tag of tags === null ? [] : listOf(tags)) terms.push(isLabelled(tagLabel(tag)))
  if (record_types !== null)
    terms.push(sql`coalesce(events.record_type, monitors.record_type) in (${sql.join(listOf(record_types))})`)
  if (states !== null) terms.push(sql`coalesce(events.new_state, monitors.state) in (${sql.join(listOf(states))})`)
  if (name_pattern !== null) terms.push(nameIsLike(name_pattern))
  return sql<boolean>`${sql.join(terms, sql` and `)}`
}

const isLabelled = (label: string) => sql`exists (select 1 from monitor_labels
  where monitor_labels.organization_id = monitors.organization_id and label = ${label} and monitor_id = monitors.id)`

const listOf = (json: string): string[] => JSON.parse(json)
const setOf = (json: string | null) => (json === null ? null : new Set(listOf(json)))
