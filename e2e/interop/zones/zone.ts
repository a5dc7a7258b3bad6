import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KNOT, NSD } from '../addresses.ts'

/** The lines of a zone file besides SOA and NS records. `ttl` in seconds. */
export type ZoneContent = { name: string; servers: readonly string[]; ttl: number; lines: string }

/** A zone, the path of its file, and the addresses of its servers. */
export type Zone = { name: string; servers: readonly string[]; file: string }

/** The names of the authoritative servers. */
export const NAME_SERVERS = [
  { name: 'ns1.zone.test', address: KNOT },
  { name: 'ns2.zone.test', address: NSD },
] as const

export async function writeZone(folder: string, content: ZoneContent): Promise<Zone> {
  const file = join(folder, `${content.name}.zone`)
  await writeFile(file, zoneText(content))
  return { name: content.name, servers: content.servers, file }
}

export function zoneText({ name, servers, ttl, lines }: ZoneContent, serial = 1): string {
  const soa = `@ SOA ns1.zone.test. hostmaster.zone.test. ${serial} 3600 600 86400 ${ttl}`
  const nameServers = NAME_SERVERS.filter(({ address }) => servers.includes(address)).map(({ name }) => `@ NS ${name}.`)
  return `${[`$ORIGIN ${name}.`, `$TTL ${ttl}`, soa, ...nameServers, lines].join('\n')}\n`
}
