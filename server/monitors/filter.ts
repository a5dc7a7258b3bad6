import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type { MonitorFilters } from '#contract/monitor-list.ts'
import { type MonitorState, STATES } from '#contract/monitors.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/schema.ts'
import { findIdsByExternalId, hasLabel, MONITOR_LABELS, metadataLabel, requestedLabels } from '../groups/labels.ts'
import { findGroupRow } from '../groups/store.ts'
import { type FieldErrors, invalid, Problem } from '../problem.ts'
import { parseNameFilter } from './names.ts'
import { matchesSearch, parseSearch, type Search, withValue } from './search.ts'

/** What monitors must be equal to: column of `monitors` → value. */
export type Equalities = Partial<
  Record<
    'group_id' | 'owner' | 'domain' | 'subdomain' | 'state' | 'record_type' | 'is_active' | 'external_id',
    string | number
  >
>

/** Which monitors of an organization are meant: those that meet all of it. */
export type MonitorFilter = {
  equals: Equalities
  /** Where there are several; one is in `equals`. */
  states: readonly MonitorState[]
  /** As `monitor_labels` has them. */
  labels: readonly string[]
  search: Search | undefined
}

export const NO_FILTER: MonitorFilter = { equals: {}, states: [], labels: [], search: undefined }

/**
 * Reads the query parameters of `GET /monitors`. Throws a 400 with each that cannot be used. `groupId`: only the monitors of this
 * group, whatever else is asked. A group that does not exist has no monitors.
 */
export async function parseFilter(
  db: Database,
  tenant: Tenant,
  query: MonitorFilters,
  groupId?: string,
): Promise<MonitorFilter> {
  const { group, customer, state, record_type, is_active, external_id, tag, search, value, ...names } = query
  const name = parseNameFilter(names)
  const states = state === undefined ? [] : parseStates(state)
  if (!name.ok || !states) {
    const code = state?.includes(',') ? 'invalid_list' : 'invalid_choice'
    const wrongState = states ? {} : { state: fieldError(code, { allowed: STATES.join(', ') }) }
    throw invalid({ ...(name.ok ? {} : name.problems), ...wrongState })
  }
  const equals: Equalities = { ...name.filter }
  const labels = requestedLabels(query)
  const groups = groupId === undefined ? [] : [groupId]
  if (group !== undefined) groups.push((await findGroupRow(db, tenant, group))?.id ?? '')
  if (customer !== undefined) {
    const ofCustomer = (await findIdsByExternalId(db, tenant, 'groups', [customer])).get(customer)
    if (ofCustomer === undefined) labels.push(metadataLabel('customer', customer))
    else groups.push(ofCustomer)
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
    search: value === undefined ? words : withValue(words, value),
  }
}

/** What is wrong with a filter of a body, under its field `filter`; also a group that does not exist. */
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
    const isKnown = group === undefined || (await findGroupRow(db, tenant, group))
    if (!isKnown) errors.group = fieldError('unknown_reference', { resource: 'group' })
  } catch (error) {
    if (!(error instanceof Problem) || !error.errors) throw error
    Object.assign(errors, error.errors)
  }
  return Object.fromEntries(Object.entries(errors).map(([field, each]) => [`filter.${field}`, each]))
}

/** In any letter case, each once. Undefined where one is no state. */
function parseStates(text: string): MonitorState[] | undefined {
  const names = text.split(',').map((name) => name.trim().toUpperCase())
  const states = STATES.filter((state) => names.includes(state))
  return names.every((name) => STATES.some((state) => state === name)) ? states : undefined
}

type Selecting = Pick<Tables, 'monitors'>

/**
 * Adds the conditions to a statement that selects from `monitors`, the organization too. They hold whatever else the statement
 * says: lists choose the index to walk beside them (list-indexes.ts).
 */
export function whereMonitors<T extends SelectQueryBuilder<never, never, object>>(
  rows: T,
  tenant: Tenant,
  filter: MonitorFilter,
): T {
  const some = rows as unknown as SelectQueryBuilder<Selecting, 'monitors', object>
  return some.where(matchesFilter(tenant, filter)) as unknown as T
}

/** The same as one condition. */
export function matchesFilter(tenant: Tenant, { equals, states, labels, search }: MonitorFilter): RawBuilder<boolean> {
  const terms = [sql<boolean>`monitors.organization_id = ${tenant.organizationId}`]
  for (const [column, value] of Object.entries(equals)) terms.push(sql`${sql.ref(`monitors.${column}`)} = ${value}`)
  if (states.length > 0) terms.push(sql`monitors.state in (${sql.join(states)})`)
  for (const label of labels) terms.push(hasLabel(MONITOR_LABELS, 'monitors', tenant, label))
  if (search) terms.push(matchesSearch(tenant, search))
  return sql.join(terms, sql` and `)
}
