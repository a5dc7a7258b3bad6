import { createHash } from 'node:crypto'
import { BATCH_DEFAULTS } from '#contract/batches.ts'
import { normalizeRule } from '../alerts/maintenance.ts'
import { normalizePattern } from '../alerts/name-pattern.ts'
import { parseDomainName } from '../dns/names.ts'
import { findFieldErrors } from '../http/validation.ts'
import { parseMonitorName } from '../monitors/names.ts'
import { parseMonitor } from '../monitors/parse-monitor.ts'
import { findTimeZone } from '../organization/iso-codes.ts'
import { toInstant, toIso } from '../times.ts'
import { masked } from '../webhooks/custom-headers.ts'
import { type Item, isObject, type Value } from './declared.ts'
import { GENERATED_ID, ITEMS, type KindName, MANAGED_BY } from './format.ts'
import { secretSettings } from './secrets.ts'

/** An item in the words of the files, normalized: names for ids, defaults filled in. What is absent is left as it is. */
export type Fields = Record<string, unknown>

/** What the ids of the server are called in the files. */
export type Names = { groups: ReadonlyMap<string, string>; channels: ReadonlyMap<string, string> }

export type Kind = {
  noun: string
  /** The fields in its name. */
  naming: readonly string[]
  /** Lists whose order has no meaning. */
  sets: readonly string[]
  /** Values that the files leave out. */
  defaults: Fields
  /** What identifies an item; several with the same name are numbered. */
  nameOf(fields: Fields): string
  wanted(item: Item): Fields
  /** From a response of the server. */
  current(resource: Value, names: Names): Fields
}

/** In the place of what is not known, because a variable is not set. */
export const UNKNOWN = '(variable not set)'
const SECRET = '********'

const namesIn = (ids: unknown, names: ReadonlyMap<string, string>): string[] | null =>
  Array.isArray(ids) ? ids.map((id) => names.get(id) ?? String(id)) : null

export const KINDS: Record<KindName, Kind> = {
  groups: {
    noun: 'group',
    naming: ['slug'],
    sets: ['tags'],
    defaults: { tags: [], metadata: {}, external_id: null },
    nameOf: ({ slug }) => String(slug),
    wanted: ({ value }) => ({ tags: [], metadata: {}, ...value }),
    current: ({ slug, name, external_id, tags, metadata }) => ({
      ...{ slug, name, external_id, tags, metadata: withoutLabel(metadata) },
    }),
  },
  channels: {
    noun: 'channel',
    naming: ['name'],
    sets: [],
    defaults: { is_active: true },
    nameOf: ({ name }) => String(name),
    wanted: ({ value }) => ({ is_active: true, ...value, settings: settingsOf(value) }),
    current: (channel) => ({
      ...{ name: channel.name, type: channel.type, settings: settingsOf(channel), is_active: channel.is_active },
    }),
  },
  webhooks: {
    noun: 'webhook',
    naming: ['url'],
    sets: ['groups', 'payload_includes'],
    defaults: {
      ...{ headers: {}, groups: [], payload_includes: [], all_groups: false, zone_events: false, batch: null },
      is_active: true,
    },
    nameOf: ({ url }) => String(url),
    wanted: ({ value, unset }) => {
      const isUnset = (...path: string[]) => unset.some((each) => each.path.join('.') === path.join('.'))
      const headers = Object.entries((value.headers ?? {}) as Record<string, string>).map(([name, text]) => [
        name.toLowerCase(),
        isUnset('headers', name) ? UNKNOWN : masked(text),
      ])
      const batch = value.batch == null ? null : { ...BATCH_DEFAULTS, ...(value.batch as object) }
      const secret = isUnset('secret') ? UNKNOWN : masked(String(value.secret))
      return {
        ...KINDS.webhooks.defaults,
        ...{ ...value, headers: Object.fromEntries(headers), batch },
        ...(value.secret !== undefined && { secret }),
      }
    },
    current: (webhook, { groups }) => ({
      ...KINDS.webhooks.defaults,
      ...pick(webhook, ['url', 'secret', 'is_active', 'payload_includes', 'all_groups', 'zone_events', 'batch']),
      headers: Object.fromEntries(
        Object.entries(webhook.headers as object).map(([name, text]) => [name.toLowerCase(), text]),
      ),
      groups: namesIn(webhook.groups, groups),
    }),
  },
  alert_rules: {
    noun: 'alert rule',
    naming: ['name'],
    sets: ['groups', 'tags', 'record_types', 'states', 'zone_levels', 'channels'],
    defaults: {
      ...{ groups: null, name_pattern: null, tags: null, record_types: null, states: null, repeat_every: null },
      ...{ escalate_after: null, escalation_channel: null, quiet_hours: null },
      ...defaultsOf('alert_rules', { name: 'x', channels: ['x'] }),
    },
    nameOf: ({ name }) => String(name),
    wanted: ({ value }) => ({
      ...KINDS.alert_rules.defaults,
      ...value,
      ...(typeof value.name_pattern === 'string' && { name_pattern: normalizePattern(value.name_pattern) }),
      timezone: findTimeZone(String(value.timezone ?? 'UTC')) ?? value.timezone,
    }),
    current: ({ id: _id, created: _created, ...rule }, { groups, channels }) => ({
      ...rule,
      groups: namesIn(rule.groups, groups),
      channels: namesIn(rule.channels, channels),
      escalation_channel: namesIn([rule.escalation_channel ?? []].flat(), channels)?.[0] ?? null,
    }),
  },
  monitors: {
    noun: 'monitor',
    naming: ['full_domain', 'domain', 'subdomain', 'record_type'],
    sets: ['tags', 'expected_value'],
    defaults: {
      ...{ is_exact_match: true, is_active: true, notify: 'immediately', resolution: 'auto', external_id: null },
      ...{ tags: [], metadata: {} },
    },
    nameOf: monitorName,
    wanted: ({ value }) => {
      const parsed = parseMonitor(value as never)
      if (!parsed.ok) throw new Error('monitors are validated when they are read')
      const { owner, domain, subdomain, recordType, expectedValues } = parsed.draft
      const { full_domain } = value
      return {
        ...{ tags: [], metadata: {}, is_exact_match: true, is_active: true, notify: 'immediately', resolution: 'auto' },
        ...value,
        full_domain: owner || '.',
        record_type: recordType,
        expected_value: expectedValues,
        ...(full_domain === undefined && { domain, subdomain }),
      }
    },
    current: (monitor) => {
      const { domain, subdomain, metadata } = monitor as { domain: string; subdomain: string; metadata: unknown }
      const owner = [subdomain, domain === '.' ? '' : domain].filter((part) => part !== '').join('.')
      return {
        ...pick(monitor, ['record_type', 'expected_value', 'is_exact_match', 'is_active', 'notify', 'frequency']),
        ...pick(monitor, ['resolution', 'group', 'external_id', 'tags']),
        ...{ full_domain: owner || '.', domain, subdomain, metadata: withoutLabel(metadata) },
      }
    },
  },
  maintenance_windows: {
    noun: 'maintenance window',
    naming: ['name'],
    sets: ['groups', 'monitors'],
    defaults: { monitors: null, groups: null, name_pattern: null, rrule: null },
    nameOf: ({ name }) => String(name),
    wanted: ({ value }) => ({
      ...{ monitors: null, groups: null, name_pattern: null, rrule: null },
      ...value,
      ...{ from: timeText(value.from), to: timeText(value.to) },
      ...(typeof value.name_pattern === 'string' && { name_pattern: normalizePattern(value.name_pattern) }),
      ...(typeof value.rrule === 'string' && { rrule: normalizeRule(value.rrule) ?? value.rrule }),
      ...(value.timezone !== undefined && { timezone: findTimeZone(String(value.timezone)) ?? value.timezone }),
    }),
    current: (window, { groups }) => ({
      ...pick(window, ['name', 'monitors', 'name_pattern', 'from', 'to', 'rrule', 'timezone']),
      groups: namesIn(window.groups, groups),
    }),
  },
  zones: {
    noun: 'zone',
    naming: ['name'],
    sets: ['expected_name_servers'],
    defaults: { ignored: [] },
    nameOf: ({ name }) => String(name),
    wanted: ({ value }) => ({
      name: hostName(String(value.name)),
      ...(value.expected_name_servers !== undefined && {
        expected_name_servers: (value.expected_name_servers as string[] | null)?.map(hostName) ?? null,
      }),
      ...(value.ignored !== undefined && { ignored: ((value.ignored ?? []) as Value[]).map(ignoredOf) }),
    }),
    current: (zone) => ({
      name: zone.name,
      // What was learned is not a setting.
      expected_name_servers: zone.name_servers_confirmed === null ? null : zone.expected_name_servers,
      ignored: (zone.ignored as Value[]).map(ignoredOf),
    }),
  },
}

const pick = (value: Value, fields: readonly string[]): Fields =>
  Object.fromEntries(fields.flatMap((field) => (value[field] === undefined ? [] : [[field, value[field]]])))

/** The validator fills in the defaults of a schema. */
function defaultsOf(kind: KindName, required: Value): Fields {
  const value = { ...required }
  findFieldErrors(ITEMS[kind], value)
  return Object.fromEntries(Object.entries(value).filter(([field]) => !(field in required)))
}

function withoutLabel(metadata: unknown): Record<string, string> {
  const { [MANAGED_BY]: _label, ...others } = (metadata ?? {}) as Record<string, string>
  return others
}

/** Secrets are masked, empty values left out. */
function settingsOf({ type, settings }: Value): Fields {
  const secrets = secretSettings(type)
  const shown = Object.entries(settings as Value).flatMap(([name, value]): [string, unknown][] => {
    if (secrets.includes(name)) return [[name, SECRET]]
    if (value === false || value === '' || (Array.isArray(value) && value.length === 0)) return []
    return [[name, name === 'addresses' ? [...new Set((value as string[]).map(plainAddress))].sort() : value]]
  })
  return Object.fromEntries(shown)
}

const plainAddress = (address: string) => address.trim().toLowerCase()

/** What an invalid time is, the server says. */
function timeText(time: unknown): unknown {
  const instant = toInstant(time as string | number)
  return Number.isNaN(instant) ? time : toIso(instant)
}

function hostName(text: string): string {
  const parsed = parseDomainName(text)
  return parsed.ok ? parsed.name : text
}

const ignoredOf = ({ code, about = null, reason, until = null }: Value) => ({
  ...{ code, about, reason },
  until: until === null ? null : timeText(until),
})

/** `www.example.com A`. */
export function monitorName({ full_domain, record_type }: Fields): string {
  return `${full_domain} ${record_type}`
}

/** Gives each item a key of its own: the second `Operations` is `Operations #2`. */
export function keysOf(names: readonly string[]): string[] {
  const taken = new Set<string>()
  return names.map((name) => {
    let key = name
    for (let number = 2; taken.has(key); number++) key = `${name} #${number}`
    taken.add(key)
    return key
  })
}

/** The external id of a monitor that has none in the files. `key`: as `keysOf` numbers it. */
export function generatedId(label: string, key: string): string {
  const id = `${GENERATED_ID}${label}/${key.replaceAll(' ', '/')}`
  if (id.length <= 128 && /^[\x21-\x7e]+$/.test(id)) return id
  return `${GENERATED_ID}${label}/sha256/${createHash('sha256').update(key).digest('hex').slice(0, 40)}`
}

export const isGenerated = (externalId: unknown): boolean => String(externalId ?? '').startsWith(GENERATED_ID)

/** Whether the names of the item are split as the server splits a full name. */
export function isSplitAsUsual({ full_domain, record_type, domain, subdomain }: Fields): boolean {
  const parsed = parseMonitorName({ full_domain: String(full_domain) }, record_type as never)
  return parsed.ok && parsed.name.domain === domain && parsed.name.subdomain === subdomain
}

/** Whether two values are the same; lists in any order where `isSet`. */
export function isSame(left: unknown, right: unknown, isSet = false): boolean {
  const text = (value: unknown) => JSON.stringify(isSet && Array.isArray(value) ? [...value].sort() : ordered(value))
  return text(left) === text(right)
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, each]) => [key, ordered(each)]),
  )
}
