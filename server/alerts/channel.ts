import type { Selectable } from 'kysely'
import type { Channel, ChannelType } from '#contract/alerts.ts'
import type { ChannelsTable } from '../database/schema-alerts.ts'
import { isoOf } from '../http/times.ts'
import type { Seal } from '../seal.ts'
import { MEDIA } from './channels/channels.ts'

export type ChannelRow = Selectable<ChannelsTable>
export type ChannelSettings = Record<string, unknown>
type Property = { secret?: boolean; isUrl?: boolean }

export const MASK = '********'

export const channelContext = (id: string): string => `channel ${id}`

const propertiesOf = (type: string): [string, Property][] =>
  Object.entries(MEDIA[type as ChannelType].settings.properties as Record<string, Property>)

export const secretNames = (type: string): string[] =>
  propertiesOf(type).flatMap(([name, { secret }]) => (secret ? [name] : []))
export const urlNames = (type: string): string[] =>
  propertiesOf(type).flatMap(([name, { isUrl }]) => (isUrl ? [name] : []))

export function secretsOf({ id, secrets }: Pick<ChannelRow, 'id' | 'secrets'>, seal: Seal): Record<string, string> {
  return secrets === null ? {} : JSON.parse(seal.open(secrets, channelContext(id)))
}

/** With the secrets. */
export const openedSettings = (row: ChannelRow, seal: Seal): ChannelSettings => ({
  ...JSON.parse(row.settings),
  ...secretsOf(row, seal),
})

/** What to store: the settings without their secrets, and these sealed. */
export function sealedSettings(type: string, id: string, settings: ChannelSettings, seal: Seal) {
  const names = new Set(secretNames(type))
  const [hidden, open] = [true, false].map((isSecret) =>
    Object.fromEntries(Object.entries(settings).filter(([name]) => names.has(name) === isSecret)),
  )
  const secrets = Object.keys(hidden!).length === 0 ? null : seal.close(JSON.stringify(hidden), channelContext(id))
  return { settings: JSON.stringify(open), secrets }
}

/** The names of secrets tell which are set; their values are masked, anyone who asks. */
export function toChannel(row: ChannelRow, seal: Seal): Channel {
  const masked = Object.keys(secretsOf(row, seal)).map((name) => [name, MASK])
  return {
    id: row.id,
    created: isoOf(row.created_at),
    name: row.name,
    type: row.type as ChannelType,
    settings: { ...JSON.parse(row.settings), ...Object.fromEntries(masked) },
    is_active: row.is_active === 1,
    last_error: row.last_error,
    last_sent: row.last_sent_at === null ? null : isoOf(row.last_sent_at),
  }
}
