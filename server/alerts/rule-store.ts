import type { Selectable } from 'kysely'
import type { AlertRule, AlertRuleChange, NewAlertRule, PreviewedRule } from '#contract/alerts.ts'
import { fieldError } from '#contract/field-errors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { DEFAULT_ZONE_LEVELS } from '#contract/zone-codes.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { listPage, type Page, type PageQuery } from '../database/pagination.ts'
import type { AlertRulesTable } from '../database/schema-alerts.ts'
import {
  deleteTenantRow,
  findTenantRow,
  getTenantRow,
  refuseAtLimit,
  unknownIdErrors,
  updateTenantRow,
} from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import { findGroupRow, parseGroupList } from '../groups/resolve.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { findTimeZone } from '../organization/iso-codes.ts'
import { type FieldErrors, throwIfInvalid } from '../problem.ts'
import { MINUTE_MS, toIso } from '../times.ts'
import { normalizePattern } from './name-pattern.ts'
import type { RuleFilters } from './rule-matching.ts'

type RuleRow = Selectable<AlertRulesTable>

/** For each organization, because every rule is matched with every failure. */
const MAX_RULES = 50
export const DEFAULT_DELAY_MINUTES = 10

export async function listRules(
  db: Database,
  keyring: Keyring,
  tenant: Tenant,
  query: PageQuery,
): Promise<Page<AlertRule>> {
  const { organizationId } = tenant
  const rows = db
    .selectFrom('alert_rules')
    .selectAll('alert_rules')
    .where('alert_rules.organization_id', '=', organizationId)
  const page = await listPage<RuleRow>(rows, {
    keyring,
    query,
    id: 'alert_rules.id',
    orders: { created: { column: 'alert_rules.id' } },
    scope: ['alert rules', organizationId],
  })
  return { ...page, data: await toRules(db, tenant, page.data) }
}

/** Throws `not_found`. */
export async function getRule(db: Database, tenant: Tenant, id: string): Promise<AlertRule> {
  const [rule] = await toRules(db, tenant, [await getTenantRow(db, 'alert_rules', tenant, id)])
  return rule!
}

/** Errors for groups, channels and a time zone that do not exist. Fields may have any type: the errors of the schema are reported too. */
export async function referenceErrors(
  db: Database,
  tenant: Tenant,
  input: Partial<Record<'groups' | 'channels' | 'escalation_channel' | 'timezone', unknown>>,
): Promise<FieldErrors> {
  const { escalation_channel, timezone } = input
  const { errors } = await parseGroupList(db, tenant, input.groups)
  if (typeof timezone === 'string' && findTimeZone(timezone) === undefined)
    errors.timezone = fieldError('invalid_time_zone')
  if (typeof escalation_channel === 'string' && !(await findTenantRow(db, 'channels', tenant, escalation_channel)))
    errors.escalation_channel = fieldError('unknown_reference', { resource: 'channel' })
  return { ...errors, ...(await unknownIdErrors(db, 'channels', tenant, input.channels)) }
}

/** Throws a 400 for fields that contradict each other. */
function refuseContradictions(rule: NewAlertRule): void {
  const { repeat_every = null, escalate_after = null, escalation_channel = null, quiet_hours, digest = 'none' } = rule
  const errors: FieldErrors = {}
  if (escalate_after !== null && escalation_channel === null)
    errors.escalate_after = fieldError('needs_field', { field: 'escalation_channel' })
  if (escalation_channel !== null && escalate_after === null)
    errors.escalation_channel = fieldError('needs_field', { field: 'escalate_after' })
  if (escalation_channel !== null && rule.channels.includes(escalation_channel))
    errors.escalation_channel = fieldError('escalates_to_itself')
  if (quiet_hours && quiet_hours.from === quiet_hours.until) errors['quiet_hours.until'] = fieldError('equal_times')
  if (digest !== 'none' && repeat_every !== null) errors.repeat_every = fieldError('excluded_by_digest')
  if (digest !== 'none' && escalate_after !== null) errors.escalate_after = fieldError('excluded_by_digest')
  throwIfInvalid(errors)
}

/** Throws 409 at the limit, and 400. */
export async function insertRule(db: Database, context: RequestContext, rule: NewAlertRule): Promise<string> {
  const { organizationId, now } = context
  refuseContradictions(rule)
  return await inTransaction(db, async (transaction) => {
    await refuseAtLimit(transaction, 'alert_rules', context, { max: MAX_RULES, things: 'alert rules' })
    const id = newId('rul', now)
    const columns = await ruleColumns(transaction, context, rule)
    await transaction
      .insertInto('alert_rules')
      .values({ organization_id: organizationId, id, created_at: now, ...columns })
      .execute()
    await setChannels(transaction, organizationId, id, rule.channels)
    const after = await getRule(transaction, context, id)
    await recordAudit(transaction, context, { action: 'alert_rule.created', object: { id, label: rule.name }, after })
    return id
  })
}

/** A new organization sends an email to its owners when a monitor fails for 10 minutes, and when it recovers. */
export async function insertDefaultRule(db: Database, { organizationId, now }: RequestContext): Promise<void> {
  const common = { organization_id: organizationId, created_at: now }
  const [channelId, ruleId] = [newId('chn', now), newId('rul', now)]
  const settings = JSON.stringify({ owners: true, addresses: [] })
  await db.insertInto('due_evaluations').values({ organization_id: organizationId, after_event_id: '' }).execute()
  await db
    .insertInto('channels')
    .values({ ...common, id: channelId, name: 'Email to owners', type: 'email', settings })
    .execute()
  await db
    .insertInto('alert_rules')
    .values({ ...common, id: ruleId, name: 'All monitors', delay_ms: DEFAULT_DELAY_MINUTES * MINUTE_MS })
    .execute()
  await setChannels(db, organizationId, ruleId, [channelId])
}

/** Throws `not_found`, 412 and 400. */
export async function updateRule(
  db: Database,
  context: RequestContext,
  id: string,
  change: AlertRuleChange,
  match?: Match,
): Promise<void> {
  const { organizationId } = context
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'alert_rules', context, id, forUpdate(transaction))
    refuseStale(row, match)
    const before = await getRule(transaction, context, id)
    const rule = { ...before, ...change }
    refuseContradictions(rule)
    const columns = await ruleColumns(transaction, context, rule)
    await updateTenantRow(transaction, 'alert_rules', context, id, { ...columns, ...nextVersion })
    await setChannels(transaction, organizationId, id, rule.channels)
    const after = await getRule(transaction, context, id)
    const object = { id, label: row.name }
    await recordAudit(transaction, context, { action: 'alert_rule.updated', object, before, after })
  })
}

/** Its pending alerts are canceled when they become due. Throws `not_found` and 412. */
export async function deleteRule(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'alert_rules', context, id, forUpdate(transaction))
    refuseStale(row, match)
    const before = await getRule(transaction, context, id)
    await deleteTenantRow(transaction, 'alert_rules', context, id)
    await recordAudit(transaction, context, { action: 'alert_rule.deleted', object: { id, label: row.name }, before })
  })
}

async function ruleColumns(db: Database, tenant: Tenant, rule: NewAlertRule) {
  const { delay = DEFAULT_DELAY_MINUTES, repeat_every, escalate_after, quiet_hours, timezone = 'UTC' } = rule
  const toBit = (value: boolean): 0 | 1 => (value ? 1 : 0)
  return {
    name: rule.name,
    is_active: toBit(rule.is_active ?? true),
    ...(await ruleFilters(db, tenant, rule)),
    zone_levels: JSON.stringify([...new Set(rule.zone_levels ?? DEFAULT_ZONE_LEVELS)]),
    delay_ms: delay * MINUTE_MS,
    notifies_recovery: toBit(rule.notify_recovery ?? true),
    first_results: toBit(rule.first_results ?? false),
    repeat_ms: repeat_every == null ? null : repeat_every * 60 * MINUTE_MS,
    escalate_ms: escalate_after == null ? null : escalate_after * MINUTE_MS,
    escalation_channel_id: rule.escalation_channel ?? null,
    quiet_from: quiet_hours ? toMinutes(quiet_hours.from) : null,
    quiet_until: quiet_hours ? toMinutes(quiet_hours.until) : null,
    timezone: findTimeZone(timezone) ?? timezone,
    digest: rule.digest === undefined || rule.digest === 'none' ? null : rule.digest,
  }
}

/** The columns of the filters of a rule. */
export async function ruleFilters(
  db: Database,
  tenant: Tenant,
  rule: Omit<PreviewedRule, 'delay' | 'first_results'>,
): Promise<RuleFilters> {
  const groups = await Promise.all((rule.groups ?? []).map((idOrSlug) => findGroupRow(db, tenant, idOrSlug)))
  const groupIds = groups.flatMap((group) => (group ? [group.id] : []))
  const toJson = (list: readonly string[] | null | undefined) =>
    list == null ? null : JSON.stringify([...new Set(list)])
  return {
    // If all groups were deleted, their ids remain: without them the rule would match every group.
    group_ids: rule.groups == null ? null : toJson(groupIds.length === 0 ? rule.groups : groupIds),
    name_pattern: rule.name_pattern == null ? null : normalizePattern(rule.name_pattern),
    tags: toJson(rule.tags),
    record_types: toJson(rule.record_types),
    states: toJson(rule.states),
  }
}

async function setChannels(
  db: Database,
  organizationId: string,
  ruleId: string,
  channels: readonly string[],
): Promise<void> {
  await db
    .deleteFrom('alert_rule_channels')
    .where('organization_id', '=', organizationId)
    .where('rule_id', '=', ruleId)
    .execute()
  const key = { organization_id: organizationId, rule_id: ruleId }
  await db
    .insertInto('alert_rule_channels')
    .values([...new Set(channels)].map((channel_id) => ({ ...key, channel_id })))
    .execute()
}

async function toRules(db: Database, { organizationId }: Tenant, rows: readonly RuleRow[]): Promise<AlertRule[]> {
  const ruleIds = rows.map(({ id }) => id)
  const links = await db
    .selectFrom('alert_rule_channels')
    .select(['rule_id', 'channel_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'rule_id', ruleIds))
    .orderBy('channel_id')
    .execute()
  const byRule = Map.groupBy(links, ({ rule_id }) => rule_id)
  return rows.map((row) => {
    const rule: AlertRule = {
      id: row.id,
      created: toIso(row.created_at),
      name: row.name,
      is_active: row.is_active === 1,
      groups: row.group_ids === null ? null : JSON.parse(row.group_ids),
      name_pattern: row.name_pattern,
      tags: row.tags === null ? null : JSON.parse(row.tags),
      record_types: row.record_types === null ? null : (JSON.parse(row.record_types) as MonitorRecordType[]),
      states: row.states === null ? null : JSON.parse(row.states),
      zone_levels: JSON.parse(row.zone_levels),
      delay: Math.round(row.delay_ms / MINUTE_MS),
      notify_recovery: row.notifies_recovery === 1,
      first_results: row.first_results === 1,
      repeat_every: row.repeat_ms === null ? null : Math.round(row.repeat_ms / (60 * MINUTE_MS)),
      escalate_after: row.escalate_ms === null ? null : Math.round(row.escalate_ms / MINUTE_MS),
      escalation_channel: row.escalation_channel_id,
      quiet_hours:
        row.quiet_from === null || row.quiet_until === null
          ? null
          : { from: toClockTime(row.quiet_from), until: toClockTime(row.quiet_until) },
      timezone: row.timezone,
      digest: row.digest ?? 'none',
      channels: (byRule.get(row.id) ?? []).map(({ channel_id }) => channel_id),
    }
    return withVersion(rule, row.version)
  })
}

/** The minute of the day of a time such as `22:30`. */
function toMinutes(time: string): number {
  const [hours, minutes] = time.split(':').map(Number)
  return hours! * 60 + minutes!
}

const toClockTime = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
