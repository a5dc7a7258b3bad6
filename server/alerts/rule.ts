import type { Selectable } from 'kysely'
import { sql } from 'kysely'
import type { AlertRulesTable } from '../database/schema-alerts.ts'

/** What a rule says about monitors, as the database holds it. */
export type RuleFilters = Pick<Selectable<AlertRulesTable>, 'group_ids' | 'name_pattern' | 'record_types' | 'states'>

/** A failure as a rule looks at it. */
export type Failure = { groupId: string; name: string; recordType: string; state: string }

/** Whether the rule is about the failure. */
export function matcherOf({
  group_ids,
  name_pattern,
  record_types,
  states,
}: RuleFilters): (failure: Failure) => boolean {
  const [groups, types, allowed] = [group_ids, record_types, states].map(setOf)
  const pattern = name_pattern === null ? null : globOf(name_pattern)
  return ({ groupId, name, recordType, state }) =>
    (!groups || groups.has(groupId)) &&
    (!types || types.has(recordType)) &&
    (!allowed || allowed.has(state)) &&
    (!pattern || pattern.test(name))
}

/** The same in SQL, for a statement over `incident_monitors` joined with `monitors` and, as their last failure, `events`. */
export function whereMatches({ group_ids, name_pattern, record_types, states }: RuleFilters) {
  const terms = [sql`1 = 1`]
  if (group_ids !== null) terms.push(sql`monitors.group_id in (${sql.join(listOf(group_ids))})`)
  if (record_types !== null) terms.push(sql`events.record_type in (${sql.join(listOf(record_types))})`)
  if (states !== null) terms.push(sql`events.new_state in (${sql.join(listOf(states))})`)
  if (name_pattern !== null) terms.push(sql`monitors.owner like ${likeOf(name_pattern)} escape '!'`)
  return sql<boolean>`${sql.join(terms, sql` and `)}`
}

const listOf = (json: string): string[] => JSON.parse(json)
const setOf = (json: string | null) => (json === null ? null : new Set(listOf(json)))

/** Names are stored in lower case and without the dot at their end. */
export const normalizedPattern = (pattern: string): string => pattern.trim().toLowerCase().replace(/\.$/, '')

/** `*` is any characters, also none. Runs in linear time: several stars in a row are one. */
function globOf(pattern: string): { test(name: string): boolean } {
  const parts = pattern.split('*')
  return {
    test(name) {
      if (parts.length === 1) return name === pattern
      const [first, last] = [parts[0]!, parts.at(-1)!]
      if (!name.startsWith(first)) return false
      let from = first.length
      for (const part of parts.slice(1, -1)) {
        const found = name.indexOf(part, from)
        if (found < 0) return false
        from = found + part.length
      }
      return name.length - last.length >= from && name.endsWith(last)
    },
  }
}

const likeOf = (pattern: string): string => pattern.replace(/[%_!]/g, '!$&').replace(/\*+/g, '%')
