import type { Channel, ChannelChange, ChannelType, NewChannel } from '#contract/alerts.ts'
import { fieldError } from '#contract/field-errors.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import { listPage, type Page, type PageQuery } from '../http/pagination.ts'
import { refusalsOfPart } from '../http/validation.ts'
import { newId } from '../ids.ts'
import { conflict, type FieldErrors } from '../problem.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import type { Seal } from '../seal.ts'
import { askToConfirm, refuseAddresses } from './addresses.ts'
import {
  type ChannelRow,
  type ChannelSettings,
  MASK,
  openedSettings,
  sealedSettings,
  secretNames,
  secretsOf,
  toChannel,
  urlNames,
} from './channel.ts'
import { MEDIA } from './channels/channels.ts'
import { refusalOfTemplate } from './channels/http.ts'

/** Channels of one organization. */
const MOST_CHANNELS = 100

export async function listChannels(
  db: Database,
  seal: Seal,
  { organizationId }: Tenant,
  query: PageQuery,
): Promise<Page<Channel>> {
  const rows = db.selectFrom('channels').selectAll('channels').where('channels.organization_id', '=', organizationId)
  const page = await listPage<ChannelRow>(rows as never, {
    seal,
    query,
    id: 'channels.id',
    orders: { created: { column: 'channels.id' } },
    scope: ['channels', organizationId],
  })
  return { ...page, data: page.data.map((row) => shown(row, seal)) }
}

/** Throws `not_found`, also for another organization's. */
export async function getChannel(db: Database, seal: Seal, tenant: Tenant, id: string): Promise<Channel> {
  return shown(await getTenantRow(db, 'channels', tenant, id), seal)
}

const shown = (row: ChannelRow, seal: Seal): Channel => withVersion(toChannel(row, seal), row.version)

type Judging = { db: Database; safeFetch: SafeFetch }

/** What is wrong with the settings, by their fields. Addresses of servers are looked up. */
export async function refusalsOf(
  { db, safeFetch }: Judging,
  organizationId: string,
  type: ChannelType,
  settings: unknown,
): Promise<FieldErrors> {
  if (typeof settings !== 'object' || settings === null) return {} // the schema of the body refuses it
  const refused = Object.entries(refusalsOfPart(MEDIA[type].settings, settings))
  if (refused.length > 0) return Object.fromEntries(refused.map(([field, error]) => [`settings.${field}`, error]))
  const given = settings as Record<string, string>
  const errors: FieldErrors = {}
  for (const name of urlNames(type)) {
    const refusal = given[name] === undefined ? null : await safeFetch.refusalOf(given[name])
    if (refusal !== null) errors[`settings.${name}`] = refusal
  }
  const refusal = given.template === undefined ? null : refusalOfTemplate(given.template)
  if (refusal !== null) errors['settings.template'] = refusal
  if (type === 'email') {
    const { owners, addresses = [] } = settings as { owners?: boolean; addresses?: string[] }
    if (!owners && addresses.length === 0) errors['settings.addresses'] = fieldError('no_recipients')
    Object.assign(errors, await refuseAddresses(db, organizationId, addresses.map(normalized)))
  }
  return errors
}

const normalized = (email: string): string => email.trim().toLowerCase()

const normalizedSettings = (settings: ChannelSettings): ChannelSettings =>
  Array.isArray(settings.addresses)
    ? { ...settings, addresses: [...new Set(settings.addresses.map(normalized))] }
    : settings

/** The settings that a change leads to: a secret that is left out or masked keeps its value. */
export async function mergedSettings(db: Database, seal: Seal, tenant: Tenant, id: string, given: ChannelSettings) {
  const row = await getTenantRow(db, 'channels', tenant, id)
  const stored = secretsOf(row, seal)
  const kept = secretNames(row.type).filter(
    (name) => stored[name] !== undefined && (given[name] === undefined || given[name] === MASK),
  )
  return {
    type: row.type as ChannelType,
    settings: { ...given, ...Object.fromEntries(kept.map((name) => [name, stored[name]!])) },
  }
}

/** Throws 409 where the organization has as many as it may. */
export async function insertChannel(
  db: Database,
  seal: Seal,
  context: RequestContext,
  { name, type, settings: given }: NewChannel,
): Promise<string> {
  const { organizationId, now } = context
  const settings = normalizedSettings(given)
  return await inTransaction(db, async (transaction) => {
    const { count } = await transaction
      .selectFrom('channels')
      .select((select) => select.fn.countAll<number>().as('count'))
      .where('organization_id', '=', organizationId)
      .executeTakeFirstOrThrow()
    if (Number(count) >= MOST_CHANNELS)
      throw conflict(`Limit reached: an organization has at most ${MOST_CHANNELS} channels. Delete one first.`)
    const id = newId('chn', now)
    await transaction
      .insertInto('channels')
      .values({
        organization_id: organizationId,
        id,
        created_at: now,
        name,
        type,
        ...sealedSettings(type, id, settings, seal),
      })
      .execute()
    if (type === 'email') await askToConfirm(transaction, seal, context, (settings.addresses ?? []) as string[])
    const after = { name, type, settings, is_active: true }
    await recordAudit(transaction, context, { action: 'channel.created', object: { id, label: name }, after })
    return id
  })
}

/** `settings`: as `mergedSettings` made them. Throws `not_found` and 412. */
export async function updateChannel(
  db: Database,
  seal: Seal,
  context: RequestContext,
  id: string,
  { name, settings: given, is_active }: ChannelChange,
  match?: Match,
): Promise<void> {
  const { organizationId } = context
  const settings = given && normalizedSettings(given)
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'channels', context, id, forUpdate(transaction))
    refuseStale(row, match)
    const before = { name: row.name, is_active: row.is_active === 1, settings: openedSettings(row, seal) }
    await transaction
      .updateTable('channels')
      .set({
        ...(name === undefined ? {} : { name }),
        ...(is_active === undefined ? {} : { is_active: is_active ? 1 : 0 }),
        ...(settings === undefined ? {} : { ...sealedSettings(row.type, id, settings, seal), last_error: null }),
        ...nextVersion,
      })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    if (settings && row.type === 'email')
      await askToConfirm(transaction, seal, context, (settings.addresses ?? []) as string[])
    const after = {
      name: name ?? row.name,
      is_active: is_active ?? row.is_active === 1,
      settings: settings ?? before.settings,
    }
    await recordAudit(transaction, context, {
      action: 'channel.updated',
      object: { id, label: row.name },
      before,
      after,
    })
  })
}

/** Its log stays until it is old. Throws 409 for the only channel of a rule, `not_found` and 412. */
export async function deleteChannel(
  db: Database,
  seal: Seal,
  context: RequestContext,
  id: string,
  match?: Match,
): Promise<void> {
  const { organizationId } = context
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'channels', context, id, forUpdate(transaction))
    refuseStale(row, match)
    const only = await transaction
      .selectFrom('alert_rule_channels as own')
      .innerJoin('alert_rules', (join) =>
        join
          .onRef('alert_rules.organization_id', '=', 'own.organization_id')
          .onRef('alert_rules.id', '=', 'own.rule_id'),
      )
      .select('alert_rules.name')
      .where('own.organization_id', '=', organizationId)
      .where('own.channel_id', '=', id)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('alert_rule_channels as other')
              .select('other.channel_id')
              .whereRef('other.organization_id', '=', 'own.organization_id')
              .whereRef('other.rule_id', '=', 'own.rule_id')
              .where('other.channel_id', '<>', id),
          ),
        ),
      )
      .limit(1)
      .executeTakeFirst()
    if (only) throw conflict(`The alert rule "${only.name}" has no other channel. Change or delete the rule first.`)
    await transaction
      .updateTable('alert_rules')
      .set({ escalation_channel_id: null, escalate_ms: null, ...nextVersion })
      .where('organization_id', '=', organizationId)
      .where('escalation_channel_id', '=', id)
      .execute()
    await transaction
      .deleteFrom('channels')
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    const before = {
      name: row.name,
      type: row.type,
      is_active: row.is_active === 1,
      settings: openedSettings(row, seal),
    }
    await recordAudit(transaction, context, { action: 'channel.deleted', object: { id, label: row.name }, before })
  })
}
