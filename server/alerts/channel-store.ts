import type { Channel, ChannelChange, ChannelType, NewChannel } from '#contract/alerts.ts'
import { fieldError } from '#contract/field-errors.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { listPage, type Page, type PageQuery } from '../database/pagination.ts'
import {
  deleteTenantRow,
  getTenantRow,
  lockOrganization,
  refuseAtLimit,
  updateTenantRow,
} from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale } from '../database/versions.ts'
import { findFieldErrors } from '../http/validation.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { normalizeAddress, requestConfirmations } from '../mail/addresses.ts'
import { rememberReceived } from '../organization/received.ts'
import { conflict, type FieldErrors } from '../problem.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import {
  type ChannelRow,
  type ChannelSettings,
  encryptedSettings,
  MASK,
  openedSettings,
  secretNames,
  secretsOf,
  toChannel,
  urlNames,
} from './channel.ts'
import { ALL_CHANNEL_TYPES } from './channel-types/channel-types.ts'
import { findTemplateError } from './channel-types/http.ts'

/** For each organization. */
const MAX_CHANNELS = 100

export async function listChannels(
  db: Database,
  keyring: Keyring,
  { organizationId }: Tenant,
  query: PageQuery,
): Promise<Page<Channel>> {
  const rows = db.selectFrom('channels').selectAll('channels').where('channels.organization_id', '=', organizationId)
  const page = await listPage<ChannelRow>(rows, {
    keyring,
    query,
    id: 'channels.id',
    orders: { created: { column: 'channels.id' } },
    scope: ['channels', organizationId],
  })
  return { ...page, data: page.data.map((row) => toChannel(row, keyring)) }
}

/** Throws `not_found`. */
export async function getChannel(db: Database, keyring: Keyring, tenant: Tenant, id: string): Promise<Channel> {
  return toChannel(await getTenantRow(db, 'channels', tenant, id), keyring)
}

/** Returns what is wrong with the settings, by field. Resolves the host names of URLs. */
export async function settingsErrors(
  { safeFetch }: { safeFetch: SafeFetch },
  type: ChannelType,
  settings: unknown,
): Promise<FieldErrors> {
  if (typeof settings !== 'object' || settings === null) return {} // The schema of the body refuses this.
  const schemaErrors = Object.entries(findFieldErrors(ALL_CHANNEL_TYPES[type].settings, settings))
  if (schemaErrors.length > 0)
    return Object.fromEntries(schemaErrors.map(([field, error]) => [`settings.${field}`, error]))
  const errors: FieldErrors = {}
  const texts = settings as Record<string, string>
  for (const name of urlNames(type)) {
    const error = texts[name] === undefined ? null : await safeFetch.refusalOf(texts[name])
    if (error !== null) errors[`settings.${name}`] = error
  }
  const templateError = texts.template === undefined ? undefined : findTemplateError(texts.template)
  if (templateError) errors['settings.template'] = templateError
  if (type === 'email') {
    const { owners, addresses = [] } = settings as { owners?: boolean; addresses?: string[] }
    if (!owners && addresses.length === 0) errors['settings.addresses'] = fieldError('no_recipients')
  }
  return errors
}

const normalizeSettings = (settings: ChannelSettings): ChannelSettings =>
  Array.isArray(settings.addresses)
    ? { ...settings, addresses: [...new Set(settings.addresses.map(normalizeAddress))] }
    : settings

/**
 * The settings after a change: secrets that are left out or masked keep their values. `errors`: secrets that a change of address
 * needs again, because whoever changes it could otherwise read them there. Throws `not_found`.
 */
export async function mergeSettings(
  db: Database,
  keyring: Keyring,
  tenant: Tenant,
  id: string,
  changed: ChannelSettings,
) {
  const row = await getTenantRow(db, 'channels', tenant, id)
  const stored = secretsOf(row, keyring)
  const unchanged = secretNames(row.type).filter(
    (name) => stored[name] !== undefined && (changed[name] === undefined || changed[name] === MASK),
  )
  const settings: ChannelSettings = {
    ...changed,
    ...Object.fromEntries(unchanged.map((name) => [name, stored[name]!])),
  }
  const before = openedSettings(row, keyring)
  const moved = urlNames(row.type).find((name) => settings[name] !== before[name])
  const errors: FieldErrors = {}
  if (moved !== undefined)
    for (const name of unchanged) errors[`settings.${name}`] = fieldError('secret_needed_again', { field: moved })
  return { type: row.type as ChannelType, settings, errors }
}

/** Throws 409 at the limit. */
export async function insertChannel(
  db: Database,
  keyring: Keyring,
  context: RequestContext,
  { name, type, settings: input }: NewChannel,
): Promise<string> {
  const { organizationId, now } = context
  const settings = normalizeSettings(input)
  return await inTransaction(db, async (transaction) => {
    await refuseAtLimit(transaction, 'channels', context, { max: MAX_CHANNELS, things: 'channels' })
    const id = newId('chn', now)
    const columns = encryptedSettings(type, id, settings, keyring)
    await transaction
      .insertInto('channels')
      .values({ organization_id: organizationId, id, created_at: now, name, type, ...columns })
      .execute()
    if (type === 'email') await confirmAddresses(transaction, keyring, context, settings)
    const after = { name, type, settings, is_active: true }
    await recordAudit(transaction, context, { action: 'channel.created', object: { id, label: name }, after })
    return id
  })
}

/** `settings`: the result of `mergeSettings`. Throws `not_found` and 412. */
export async function updateChannel(
  db: Database,
  keyring: Keyring,
  context: RequestContext,
  id: string,
  change: ChannelChange,
  match?: Match,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, context.organizationId)
    const row = await getTenantRow(transaction, 'channels', context, id, forUpdate(transaction))
    refuseStale(row, match)
    const before = { name: row.name, is_active: row.is_active === 1, settings: openedSettings(row, keyring) }
    const settings = change.settings && normalizeSettings(change.settings)
    const { name = before.name, is_active = before.is_active } = change
    await updateTenantRow(transaction, 'channels', context, id, {
      name,
      is_active: is_active ? 1 : 0,
      ...(settings && { ...encryptedSettings(row.type, id, settings, keyring), last_error: null }),
      ...nextVersion,
    })
    if (settings && row.type === 'email') await confirmAddresses(transaction, keyring, context, settings)
    const after = { name, is_active, settings: settings ?? before.settings }
    const object = { id, label: row.name }
    await recordAudit(transaction, context, { action: 'channel.updated', object, before, after })
  })
}

const confirmAddresses = (db: Database, keyring: Keyring, context: RequestContext, { addresses }: ChannelSettings) =>
  requestConfirmations(db, keyring, context, (addresses ?? []) as string[], 'settings.addresses')

/** Its alerts remain in the log. Throws 409 for the only channel of a rule, `not_found` and 412. */
export async function deleteChannel(
  db: Database,
  keyring: Keyring,
  context: RequestContext,
  id: string,
  match?: Match,
): Promise<void> {
  const { organizationId } = context
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'channels', context, id, forUpdate(transaction))
    refuseStale(row, match)
    const rule = await findRuleWithoutOtherChannel(transaction, context, id)
    if (rule) throw conflict(`The alert rule "${rule.name}" has no other channel. Change or delete the rule first.`)
    await transaction
      .updateTable('alert_rules')
      .set({ escalation_channel_id: null, escalate_ms: null, ...nextVersion })
      .where('organization_id', '=', organizationId)
      .where('escalation_channel_id', '=', id)
      .execute()
    await deleteTenantRow(transaction, 'channels', context, id)
    if (row.last_sent_at !== null) await rememberReceived(transaction, context)
    const { name, type } = row
    const before = { name, type, is_active: row.is_active === 1, settings: openedSettings(row, keyring) }
    await recordAudit(transaction, context, { action: 'channel.deleted', object: { id, label: name }, before })
  })
}

function findRuleWithoutOtherChannel(db: Database, { organizationId }: Tenant, channelId: string) {
  return db
    .selectFrom('alert_rule_channels as link')
    .innerJoin('alert_rules', (join) =>
      join
        .onRef('alert_rules.organization_id', '=', 'link.organization_id')
        .onRef('alert_rules.id', '=', 'link.rule_id'),
    )
    .select('alert_rules.name')
    .where('link.organization_id', '=', organizationId)
    .where('link.channel_id', '=', channelId)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('alert_rule_channels as other')
            .select('other.channel_id')
            .whereRef('other.organization_id', '=', 'link.organization_id')
            .whereRef('other.rule_id', '=', 'link.rule_id')
            .where('other.channel_id', '<>', channelId),
        ),
      ),
    )
    .limit(1)
    .executeTakeFirst()
}
