import { type RawBuilder, sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type { MonitorFilters } from '#contract/monitor-list.ts'
import { type MonitorState, STATES } from '#contract/monitors.ts'
import type { Tenant } from '../../context.ts'
import type { Database } from '../../database/database.ts'
import { findIdsByExternalId, hasLabel, MONITOR_LABELS, metadataLabel, requestedLabels } from '../../groups/labels.ts'
import { findGroupRow, UNKNOWN_GROUP } from '../../groups/resolve.ts'
import { type FieldErrors, invalid, Problem } from '../../problem.ts'
import { parseNameFilter } from '../names.ts'
import { matchesSearch, parseSearch, type Search, withValue } from './search.ts'

/** Column of `monitors` → required value. */
export type Equalities = Partial<
  Record<
    'group_id' | 'owner' | 'domain' | 'subdomain' | 'state' | 'record_type' | 'is_active' | 'external_id',
    string | number
  >
>

/** Selects the monitors of an organization that meet all conditions. */
export type MonitorFilter = {
  equals: Equalities
  /** Empty for a single state, which is in `equals`. */
  states: readonly MonitorState[]
  /** In the form of `monitor_labels`. */
  labels: readonly string[]
  /** The id of an incident that they belong to. */
  incident: string | undefined
  search: Search | undefined
}

export const NO_FILTER: MonitorFilter = {
  equals: {},
  states: [],
  labels: [],
  incident: undefined,
  search: undefined,
}

/**
 * Parses the query parameters of `GET /monitors`. Throws a 400 with every invalid one. `groupId`: only monitors of this group, whatever
 * else the query filters by. An unknown group has no monitors.
 */
export async function parseFilter(
  db: Database,
  tenant: Tenant,
  query: MonitorFilters,
  groupId?: string,
): Promise<MonitorFilter> {
  const { group, customer, state, incident, record_type, is_active, external_id, tag, search, value, ...names } = query
  const name = parseNameFilter(names)
  const states = state === undefined ? [] : parseStates(state)
  if (!name.ok || !states) {
    const code = state?.includes(',') ? 'invalid_list' : 'invalid_choice'
    const stateError = states ? {} : { state: fieldError(code, { allowed: STATES.join(', ') }) }
    throw invalid({ ...(name.ok ? {} : name.errors), ...stateError })
  }
  const equals: Equalities = { ...name.filter }
  const labels = requestedLabels(query)
  const groups = groupId === undefined ? [] : [groupId]
  if (group !== undefined) groups.push((await findGroupRow(db, tenant, group))?.id ?? '')
  if (customer !== undefined) {
    const customerGroup = (await findIdsByExternalId(db, tenant, 'groups', [customer])).get(customer)
    if (customerGroup === undefined) labels.push(metadataLabel('customer', customer))
    else groups.push(customerGroup)
  }
  if (groups.length > 0) equals.group_id = groups.every((id) => id === groups[0]) ? groups[0]! : ''
  if (states.length === 1) equals.state = states[0]!
  if (record_type !== undefined) equals.record_type = record_type
  if (is_active !== undefined) equals.is_active = is_active ? 1 : 0
  if (external_id !== undefined) equals.external_id = external_id
  const words = search === undefined ? undefined : parseSearch(search)
  return {
    equals,
    states: states.length > 1 ? states : [],
    labels: [...new Set(labels)].sort(),
    incident,
    search: value === undefined ? words : withValue(words, value),
  }
}

/** The errors of a filter in a body, below its field `filter`. An unknown group is an error too. */
export async function filterErrors(
  db: Database,
  tenant: Tenant,
  filter: MonitorFilters | undefined,
): Promise<FieldErrors> {
  if (filter === undefined) return {}
  const { group } = filter
  const errors: FieldErrors = {}
  try {
    await parseFilter(db, tenant, filter)
    if (group !== undefined && !(await findGroupRow(db, tenant, group))) errors.group = UNKNOWN_GROUP
  } catch (error) {
    if (!(error instanceof Problem) || !error.errors) throw error
    Object.assign(errors, error.errors)
  }
  return Object.fromEntries(Object.entries(errors).map(([field, error]) => [`filter.${field}`, error]))
}

/** In any letter case, without duplicates. Undefined if one is not a state. */
function parseStates(text: string): MonitorState[] | undefined {
  const names = text.split(',').map((name) => name.trim().toUpperCase())
  const states = STATES.filter((state) => names.includes(state))
  return names.every((name) => (STATES as readonly string[]).includes(name)) ? states : undefined
}

/** The condition on rows of `monitors`, with the organization. */
export function matchesFilter(tenant: Tenant, filter: MonitorFilter): RawBuilder<boolean> {
  const { equals, states, labels, incident, search } = filter
  const terms = [sql<boolean>`monitors.organization_id = ${tenant.organizationId}`]
  for (const [column, value] of Object.entries(equals)) terms.push(sql`${sql.ref(`monitors.${column}`)} = ${value}`)
  if (states.length > 0) terms.push(sql`monitors.state in (${sql.join(states)})`)
  for (const label of labels) terms.push(hasLabel(MONITOR_LABELS, 'monitors', tenant, label))
  if (incident !== undefined)
    terms.push(sql`exists (select 1 from incident_monitors where incident_monitors.organization_id = ${tenant.organizationId}
      and incident_monitors.incident_id = ${incident} and incident_monitors.monitor_id = monitors.id)`)
  if (search) terms.push(matchesSearch(tenant, search))
  return sql.join(terms, sql` and `)
}
