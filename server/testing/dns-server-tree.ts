import { formatServer } from '../dns/server-address.ts'
import { type DnsServer, startDnsServer } from './dns-server.ts'

/** A small DNS of its own: every server on an address of its own, all on one port, as glue names no port. */
export type DnsTree = {
  root: DnsServer
  /** A further server; `zones` are those it serves. Without `zones` it is recursive. */
  server(zones?: string[]): Promise<DnsServer>
  /** A server for a zone below the root, delegated there with glue under the given names. */
  zone(zone: string, nameServers: string[], parent?: DnsServer[]): Promise<DnsServer[]>
  close(): Promise<void>
}

const FIRST_PORT = 12_000
const PORTS = 18_000
let network = 0

export async function startDnsTree(): Promise<DnsTree> {
  for (let tries = 1; ; tries++) {
    try {
      return await startOn(FIRST_PORT + Math.floor(Math.random() * PORTS))
    } catch (error) {
      if (tries === 20) throw error // else somebody has the port
    }
  }
}

async function startOn(port: number): Promise<DnsTree> {
  const servers: DnsServer[] = []
  const block = ++network
  const start = async (zones?: string[]) => {
    const ip = `127.${100 + (block >> 8)}.${block & 255}.${servers.length + 1}`
    const options = zones ? { authoritative: true, zones } : {}
    const server = await startDnsServer({ ip, port, ...options })
    servers.push(server)
    return server
  }
  const root = await start([''])
  root.set('', 'SOA', ['root. hostmaster. 1 1800 900 604800 86400'])
  return {
    root,
    server: start,
    async zone(zone, nameServers, parents = [root]) {
      const serving: DnsServer[] = []
      for (const _ of nameServers) serving.push(await start([zone]))
      const glue = Object.fromEntries(nameServers.map((name, at) => [name, [serving[at]!.address.ip]]))
      for (const parent of parents) parent.delegate(zone, glue)
      for (const server of serving) server.set(zone, 'NS', nameServers)
      return serving
    },
    async close() {
      await Promise.all(servers.map((server) => server.close()))
    },
  }
}

/** The addresses of servers as a setting takes them. */
export function formatServers(servers: readonly DnsServer[]): string {
  return servers.map(({ address }) => formatServer(address)).join(',')
}
