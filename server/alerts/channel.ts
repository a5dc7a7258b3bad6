import type { Selectable } from 'kysely'
import type { Channel, ChannelType } from '#contract/alerts.ts'
import type { ChannelsTable } from '../database/schema-alerts.ts'
import { withVersion } from '../database/versions.ts'
import type { Keyring } from '../keyring.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { ALL_CHANNEL_TYPES } from './channel-types/channel-types.ts'

export type ChannelRow = Selectable<ChannelsTable>
export type ChannelSettings = Record<string, unknown>

export const MASK = '********'

export const channelContext = (id: string): string => `channel ${id}`

/** The names of settings that have a property: secrets, or URLs. */
function settingNames(type: string, property: 'secret' | 'isUrl'): string[] {
  const { properties } = ALL_CHANNEL_TYPES[type as ChannelType].settings
  return Object.entries(properties as Record<string, { secret?: boolean; isUrl?: boolean }>).flatMap(
    ([name, schema]) => (schema[property] ? [name] : []),
  )
}

export const secretNames = (type: string): string[] => settingNames(type, 'secret')
export const urlNames = (type: string): string[] => settingNames(type, 'isUrl')

export function secretsOf(
  { id, secrets }: Pick<ChannelRow, 'id' | 'secrets'>,
  keyring: Keyring,
): Record<string, string> {
  return secrets === null ? {} : JSON.parse(keyring.decrypt(secrets, channelContext(id)))
}

/** The settings with their secrets. */
export const openedSettings = (row: ChannelRow, keyring: Keyring): ChannelSettings => ({
  ...JSON.parse(row.settings),
  ...secretsOf(row, keyring),
})

/** The columns to store: the settings without secrets, and the encrypted secrets. */
export function encryptedSettings(type: string, id: string, settings: ChannelSettings, keyring: Keyring) {
  const names = secretNames(type)
  const entries = Object.entries(settings)
  const secrets = entries.filter(([name]) => names.includes(name))
  const open = entries.filter(([name]) => !names.includes(name))
  return {
    settings: JSON.stringify(Object.fromEntries(open)),
    secrets:
      secrets.length === 0 ? null : keyring.encrypt(JSON.stringify(Object.fromEntries(secrets)), channelContext(id)),
  }
}

/** Secrets that are set are masked. */
export function toChannel(row: ChannelRow, keyring: Keyring): Channel {
  const masked = Object.keys(secretsOf(row, keyring)).map((name) => [name, MASK])
  const channel: Channel = {
    id: row.id,
    created: toIso(row.created_at),
    name: row.name,
    type: row.type as ChannelType,
    settings: { ...JSON.parse(row.settings), ...Object.fromEntries(masked) },
    is_active: row.is_active === 1,
    last_error: row.last_error,
    last_sent: toIsoOrNull(row.last_sent_at),
  }
  return withVersion(channel, row.version)
}
