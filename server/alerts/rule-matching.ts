import { type Selectable, sql } from 'kysely'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { AlertRulesTable } from '../database/schema-alerts.ts'
import { tagLabel } from '../groups/labels.ts'
import { matchesPattern, nameIsLike } from './name-pattern.ts'

type RuleRow = Selectable<AlertRulesTable>

/** The columns that select monitors and failures. Null matches all of them. */
export type RuleFilters = Pick<RuleRow, 'group_ids' | 'name_pattern' | 'tags' | 'record_types' | 'states'>

type ZoneFilters = Pick<RuleRow, 'group_ids' | 'tags' | 'name_pattern' | 'zone_levels'>

/** `name`: of the monitor. */
export type Failure = { groupId: string; name: string; tags: readonly string[]; recordType: string; state: string }

/** Returns a function that says whether the rule matches a failure. */
export function failureMatcher(filters: RuleFilters): (failure: Failure) => boolean {
  const findExclusion = exclusionFinder(filters)
  const states = parseSet(filters.states)
  return (failure) => findExclusion(failure) === null && (!states || states.has(failure.state))
}

/** The current tags by monitor. */
export async function tagsByMonitor(
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
  return new Map(rows.map(({ id, tags }) => [id, parseList(tags)]))
}

/** Returns a function that names the first field of the rule that excludes a monitor; null if the rule includes it. */
export function exclusionFinder({
  group_ids,
  name_pattern,
  tags,
  record_types,
}: RuleFilters): (monitor: Omit<Failure, 'state'>) => 'group' | 'type' | 'tag' | 'name' | null {
  const [groups, types] = [group_ids, record_types].map(parseSet)
  const requiredTags = tags === null ? [] : parseList(tags)
  return (monitor) => {
    if (groups && !groups.has(monitor.groupId)) return 'group'
    if (types && !types.has(monitor.recordType)) return 'type'
    if (!requiredTags.every((tag) => monitor.tags.includes(tag))) return 'tag'
    return name_pattern === null || matchesPattern(name_pattern, monitor.name) ? null : 'name'
  }
}

/** The same in SQL, for a statement over `incident_monitors`, `monitors` and the `events` of their last failures (outer join). */
export function matchesFailing(rule: RuleFilters & Pick<RuleRow, 'first_results'>) {
  const { group_ids, name_pattern, tags, record_types, states, first_results } = rule
  const terms = [sql`1 = 1`]
  if (first_results === 0) terms.push(sql`incident_monitors.first_result = 0`)
  if (group_ids !== null) terms.push(sql`monitors.group_id in (${sql.join(parseList(group_ids))})`)
  for (const tag of tags === null ? [] : parseList(tags)) terms.push(hasLabel(tagLabel(tag)))
  if (record_types !== null)
    terms.push(sql`coalesce(events.record_type, monitors.record_type) in (${sql.join(parseList(record_types))})`)
  if (states !== null) terms.push(sql`coalesce(events.new_state, monitors.state) in (${sql.join(parseList(states))})`)
  if (name_pattern !== null) terms.push(nameIsLike(name_pattern))
  return sql<boolean>`${sql.join(terms, sql` and `)}`
}

/** Zones have no groups and no tags: a rule with either matches none. */
export function matchesZone(
  { group_ids, tags, name_pattern, zone_levels }: ZoneFilters,
  { name, health }: { name: string; health: string },
): boolean {
  if (group_ids !== null || tags !== null || !parseList(zone_levels).includes(health)) return false
  return name_pattern === null || matchesPattern(name_pattern, name)
}

/** The same in SQL, for a statement over `zones`. */
export function matchesZones({ group_ids, tags, name_pattern, zone_levels }: ZoneFilters) {
  const levels = parseList(zone_levels)
  if (group_ids !== null || tags !== null || levels.length === 0) return sql<boolean>`1 = 0`
  const isAtLevel = sql<boolean>`zones.health in (${sql.join(levels)})`
  return name_pattern === null ? isAtLevel : sql<boolean>`${isAtLevel} and ${nameIsLike(name_pattern, 'zones.name')}`
}

const hasLabel = (label: string) => sql`exists (select 1 from monitor_labels
  where monitor_labels.organization_id = monitors.organization_id and label = ${label} and monitor_id = monitors.id)`

const parseList = (json: string): string[] => JSON.parse(json)
const parseSet = (json: string | null) => (json === null ? null : new Set(parseList(json)))
