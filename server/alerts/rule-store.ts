import type { Selectable } from 'kysely'
import type { AlertPreview, AlertRule, AlertRuleChange, NewAlertRule, PreviewedRule } from '#contract/alerts.ts'
import { fieldError } from '#contract/field-errors.ts'
import type { MonitorState } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import type { AlertRulesTable } from '../database/schema-alerts.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import { findGroupRow, parseGroupList, stringsOf } from '../groups/store.ts'
import { listPage, type Page, type PageQuery } from '../http/pagination.ts'
import { isoOf } from '../http/times.ts'
import { lowestIdAt, newId } from '../ids.ts'
import { findTimeZone } from '../organization/iso-codes.ts'
import { conflict, type FieldErrors, refuse } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { normalizedPattern } from './name-pattern.ts'
import { matcherOf, type RuleFilters, tagsOf } from './rule.ts'
import { clockText, minuteOf } from './rule-times.ts'

type RuleRow = Selectable<AlertRulesTable>

const MINUTE_MS = 60_000
/** Rules of one organization: each looks at every failure. */
const MOST_RULES = 50

export async function listRules(db: Database, seal: Seal, tenant: Tenant, query: PageQuery): Promise<Page<AlertRule>> {
  const { organizationId } = tenant
  const rows = db
    .selectFrom('alert_rules')
    .selectAll('alert_rules')
    .where('alert_rules.organization_id', '=', organizationId)
  const page = await listPage<RuleRow>(rows as never, {
    seal,
    query,
    id: 'alert_rules.id',
    orders: { created: { column: 'alert_rules.id' } },
    scope: ['alert rules', organizationId],
  })
  return { ...page, data: await toRules(db, tenant, page.data) }
}

/** Throws `not_found`, also for another organization's. */
export async function getRule(db: Database, tenant: Tenant, id: string): Promise<AlertRule> {
  const [rule] = await toRules(db, tenant, [await getTenantRow(db, 'alert_rules', tenant, id)])
  return rule!
}

type Given = Partial<Record<'groups' | 'channels' | 'escalation_channel' | 'timezone', unknown>>

/** By their fields those that do not exist. */
export async function refuseUnknown(
  db: Database,
  tenant: Tenant,
  { groups, channels, escalation_channel, timezone }: Given,
): Promise<FieldErrors> {
  const { errors } = await parseGroupList(db, tenant, groups)
  if (typeof timezone === 'string' && findTimeZone(timezone) === undefined)
    errors.timezone = fieldError('invalid_time_zone')
  const ids = stringsOf(channels)
  const rows = await db
    .selectFrom('channels')
    .select('id')
    .where('organization_id', '=', tenant.organizationId)
    .where(isOneOf(db, 'id', [...ids, ...stringsOf([escalation_channel])]))
    .execute()
  const known = new Set(rows.map(({ id }) => id))
  for (const [index, id] of ids.entries()) {
    if (known.has(id)) continue
    errors[`channels.${index}`] = fieldError('unknown_reference', { resource: 'channel' })
  }
  if (typeof escalation_channel === 'string' && !known.has(escalation_channel))
    errors.escalation_channel = fieldError('unknown_reference', { resource: 'channel' })
  return errors
}

/** Of a rule as a whole, after a change: what its fields say together. Throws a 400. */
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
  refuse(errors)
}

/** The columns of when and how often a rule sends. */
function timesOf(rule: NewAlertRule) {
  const { delay = 10, repeat_every, escalate_after, quiet_hours, timezone = 'UTC' } = rule
  return {
    delay_ms: delay * MINUTE_MS,
    notifies_recovery: truth(rule.notify_recovery ?? true),
    first_results: truth(rule.first_results ?? false),
    repeat_ms: repeat_every == null ? null : repeat_every * 60 * MINUTE_MS,
    escalate_ms: escalate_after == null ? null : escalate_after * MINUTE_MS,
    escalation_channel_id: rule.escalation_channel ?? null,
    quiet_from: quiet_hours ? minuteOf(quiet_hours.from) : null,
    quiet_until: quiet_hours ? minuteOf(quiet_hours.until) : null,
    timezone: findTimeZone(timezone) ?? timezone,
    digest: rule.digest === undefined || rule.digest === 'none' ? null : rule.digest,
  }
}

const truth = (value: boolean): 0 | 1 => (value ? 1 : 0)

/** Throws 409 where the organization has as many as it may, and a 400. */
export async function insertRule(db: Database, context: RequestContext, given: NewAlertRule): Promise<string> {
  const { organizationId, now } = context
  refuseContradictions(given)
  return await inTransaction(db, async (transaction) => {
    const { count } = await transaction
      .selectFrom('alert_rules')
      .select((select) => select.fn.countAll<number>().as('count'))
      .where('organization_id', '=', organizationId)
      .executeTakeFirstOrThrow()
    if (Number(count) >= MOST_RULES)
      throw conflict(`Limit reached: an organization has at most ${MOST_RULES} alert rules. Delete one first.`)
    const id = newId('rul', now)
    await transaction
      .insertInto('alert_rules')
      .values({
        organization_id: organizationId,
        id,
        created_at: now,
        name: given.name,
        is_active: truth(given.is_active ?? true),
        ...(await filtersOf(transaction, context, given)),
        ...timesOf(given),
      })
      .execute()
    await setChannels(transaction, organizationId, id, given.channels)
    const after = await getRule(transaction, context, id)
    await recordAudit(transaction, context, { action: 'alert_rule.created', object: { id, label: given.name }, after })
    return id
  })
}

/** Throws `not_found`, 412 and a 400. */
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
    const { channels, ...wanted } = { ...before, ...change }
    refuseContradictions({ channels, ...wanted })
    await transaction
      .updateTable('alert_rules')
      .set({
        name: wanted.name,
        is_active: truth(wanted.is_active),
        ...(await filtersOf(transaction, context, wanted)),
        ...timesOf({ channels, ...wanted }),
        ...nextVersion,
      })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await setChannels(transaction, organizationId, id, channels)
    const after = await getRule(transaction, context, id)
    await recordAudit(transaction, context, {
      action: 'alert_rule.updated',
      object: { id, label: row.name },
      before,
      after,
    })
  })
}

/** What is due by it is canceled when its time comes. Throws `not_found` and 412. */
export async function deleteRule(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  const { organizationId } = context
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'alert_rules', context, id, forUpdate(transaction))
    refuseStale(row, match)
    const before = await getRule(transaction, context, id)
    await transaction
      .deleteFrom('alert_rules')
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await recordAudit(transaction, context, { action: 'alert_rule.deleted', object: { id, label: row.name }, before })
  })
}

const PREVIEWED_DAYS = 30
const DAY_MS = 24 * 60 * 60_000
/** Failures that a preview reads, and shows. */
const MOST_READ = 2000
const MOST_SHOWN = 100

/** Failures of the last 30 days that the rule is about and that lasted as long as it waits, newest first. */
export async function previewRule(db: Database, context: RequestContext, given: PreviewedRule): Promise<AlertPreview> {
  const { organizationId, now } = context
  const matches = matcherOf(await filtersOf(db, context, given))
  const delayMs = (given.delay ?? 10) * MINUTE_MS
  const rows = await db
    .selectFrom('events')
    .select(['id', 'monitor_id', 'group_id', 'occurred_at', 'new_state', 'domain', 'subdomain', 'record_type'])
    .where('organization_id', '=', organizationId)
    .where('id', '>=', lowestIdAt('evt', now - PREVIEWED_DAYS * DAY_MS))
    .where(({ eb, lit }) => (given.first_results ? eb(lit(1), '=', lit(1)) : eb('old_state', '=', 'VALID')))
    .where('new_state', '<>', 'VALID')
    .orderBy('id', 'desc')
    .limit(MOST_READ + 1)
    .execute()
  const read = rows.slice(0, MOST_READ)
  const nameOf = ({ subdomain, domain }: (typeof rows)[number]) =>
    subdomain === '' ? domain : `${subdomain}.${domain}`
  const monitorIds = [...new Set(read.map(({ monitor_id }) => monitor_id))]
  const tags = given.tags == null ? new Map() : await tagsOf(db, organizationId, monitorIds)
  const matched = read.filter((row) => {
    const { monitor_id, group_id: groupId, record_type: recordType, new_state: state } = row
    return matches({ groupId, name: nameOf(row), tags: tags.get(monitor_id) ?? [], recordType, state })
  })
  const lasting = delayMs === 0 ? matched : await lastingOf(db, organizationId, matched, { delayMs, now })
  const data = lasting.slice(0, MOST_SHOWN).map((row) => ({
    event_id: row.id,
    occurred: isoOf(row.occurred_at),
    name: nameOf(row),
    record_type: row.record_type,
    state: row.new_state as MonitorState,
  }))
  return { days: PREVIEWED_DAYS, is_complete: rows.length <= MOST_READ && lasting.length <= MOST_SHOWN, data }
}

type Failed = { id: string; monitor_id: string; occurred_at: number }

/** Those whose monitor did not become valid within the delay. */
async function lastingOf<F extends Failed>(
  db: Database,
  organizationId: string,
  failures: readonly F[],
  { delayMs, now }: { delayMs: number; now: number },
): Promise<F[]> {
  const shown = failures.slice(0, MOST_READ)
  const recoveries = await db
    .selectFrom('events')
    .select(['monitor_id', 'occurred_at'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', [...new Set(shown.map(({ monitor_id }) => monitor_id))]))
    .where('new_state', '=', 'VALID')
    .where('occurred_at', '>=', Math.min(now, ...shown.map(({ occurred_at }) => occurred_at)))
    .orderBy('occurred_at')
    .limit(MOST_READ * 2)
    .execute()
  const byMonitor = Map.groupBy(recoveries, ({ monitor_id }) => monitor_id)
  return shown.filter(({ monitor_id, occurred_at }) => {
    if (occurred_at + delayMs > now) return false
    const recovery = byMonitor.get(monitor_id)?.find((each) => each.occurred_at > occurred_at)
    return recovery === undefined || recovery.occurred_at - occurred_at >= delayMs
  })
}

async function filtersOf(
  db: Database,
  tenant: Tenant,
  given: Omit<PreviewedRule, 'delay' | 'first_results'>,
): Promise<RuleFilters> {
  const groups = await Promise.all((given.groups ?? []).map((named) => findGroupRow(db, tenant, named)))
  const ids = groups.flatMap((group) => (group ? [group.id] : []))
  const json = (list: readonly string[] | null | undefined) =>
    list == null ? null : JSON.stringify([...new Set(list)])
  return {
    // A group that was deleted stays in the rule: without it the rule would be about every group.
    group_ids: given.groups == null ? null : json(ids.length === 0 ? given.groups : ids),
    name_pattern: given.name_pattern == null ? null : normalizedPattern(given.name_pattern),
    tags: json(given.tags),
    record_types: json(given.record_types),
    states: json(given.states),
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
  await db
    .insertInto('alert_rule_channels')
    .values(
      [...new Set(channels)].map((channel_id) => ({ organization_id: organizationId, rule_id: ruleId, channel_id })),
    )
    .execute()
}

async function toRules(db: Database, { organizationId }: Tenant, rows: readonly RuleRow[]): Promise<AlertRule[]> {
  const links = await db
    .selectFrom('alert_rule_channels')
    .select(['rule_id', 'channel_id'])
    .where('organization_id', '=', organizationId)
    .where(
      isOneOf(
        db,
        'rule_id',
        rows.map(({ id }) => id),
      ),
    )
    .orderBy('channel_id')
    .execute()
  const channels = Map.groupBy(links, ({ rule_id }) => rule_id)
  return rows.map((row) => {
    const rule: AlertRule = {
      id: row.id,
      created: isoOf(row.created_at),
      name: row.name,
      is_active: row.is_active === 1,
      groups: row.group_ids === null ? null : JSON.parse(row.group_ids),
      name_pattern: row.name_pattern,
      tags: row.tags === null ? null : JSON.parse(row.tags),
      record_types: row.record_types === null ? null : (JSON.parse(row.record_types) as MonitorRecordType[]),
      states: row.states === null ? null : JSON.parse(row.states),
      delay: Math.round(row.delay_ms / MINUTE_MS),
      notify_recovery: row.notifies_recovery === 1,
      first_results: row.first_results === 1,
      repeat_every: row.repeat_ms === null ? null : Math.round(row.repeat_ms / (60 * MINUTE_MS)),
      escalate_after: row.escalate_ms === null ? null : Math.round(row.escalate_ms / MINUTE_MS),
      escalation_channel: row.escalation_channel_id,
      quiet_hours:
        row.quiet_from === null || row.quiet_until === null
          ? null
          : { from: clockText(row.quiet_from), until: clockText(row.quiet_until) },
      timezone: row.timezone,
      digest: row.digest ?? 'none',
      channels: (channels.get(row.id) ?? []).map(({ channel_id }) => channel_id),
    }
    return withVersion(rule, row.version)
  })
}
