import type { ChannelType } from '#contract/alerts.ts'
import { isOneOfTenants } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { Keyring } from '../keyring.ts'
import { type ChannelRow, openedSettings, urlNames } from './channel.ts'
import type { AlertClaim } from './claim-alerts.ts'

/** A claimed alert and where it goes. `host`: null for mail, which leaves by the mail server of this installation. */
export type AlertToSend = { claim: AlertClaim; queue: string; host: string | null }

const MAX_CHANNELS = 20_000

/**
 * The channels of an organization that send to one host share a queue: more channels give a host that does not respond no more
 * slots. Remembers the queue of each channel from its last claim.
 */
export class Destinations {
  readonly #queues = new Map<string, string>() // by channel, the least recently claimed first

  /** Reads the channels again, because they may have been changed. */
  async of(db: Database, keyring: Keyring, claims: readonly AlertClaim[]): Promise<AlertToSend[]> {
    const channels = claims.flatMap(({ organization_id, channel_id }) =>
      channel_id === null ? [] : [{ organizationId: organization_id, id: channel_id }],
    )
    const rows =
      channels.length === 0
        ? []
        : await db
            .selectFrom('channels')
            .selectAll()
            .where(isOneOfTenants(db, 'channels', channels))
            .execute()
    const hosts = new Map(rows.map((row) => [`${row.organization_id} ${row.id}`, hostOf(row, keyring)]))
    return claims.map((claim) => {
      const { organization_id, channel_id, alert_id } = claim
      const host = hosts.get(`${organization_id} ${channel_id}`) ?? null
      const queue = host === null ? (channel_id ?? alert_id) : `${organization_id} ${host}`
      if (channel_id !== null) this.#remember(channel_id, queue)
      return { claim, queue, host }
    })
  }

  /** The channels that send to these queues. */
  channelsOf(queues: readonly string[]): string[] {
    const wanted = new Set(queues)
    return [...this.#queues].flatMap(([channel, queue]) => (wanted.has(queue) ? [channel] : []))
  }

  #remember(channelId: string, queue: string): void {
    this.#queues.delete(channelId)
    this.#queues.set(channelId, queue)
    const oldest = this.#queues.keys().next().value
    if (this.#queues.size > MAX_CHANNELS && oldest !== undefined) this.#queues.delete(oldest)
  }
}

/** Channels of a type without an address send to one provider. */
function hostOf(row: ChannelRow, keyring: Keyring): string | null {
  const type = row.type as ChannelType
  if (type === 'email') return null
  const settings = openedSettings(row, keyring)
  const url = urlNames(type).flatMap((name) => (typeof settings[name] === 'string' ? [settings[name]] : []))[0]
  return (url === undefined ? null : URL.parse(url)?.host) ?? type
}
