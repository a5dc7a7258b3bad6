import { formatServer } from '../dns/server-address.ts'
import { type DnsServer, startDnsServer } from './dns-server.ts'

/** A small DNS with its own root. Each server has its own address; all use one port, because glue contains no port. */
export type DnsTree = {
  root: DnsServer
  /** Starts another server, authoritative for `zones`, or recursive without them. */
  server(zones?: string[]): Promise<DnsServer>
  /** Starts a server for each of the name servers and delegates the zone to them, with glue. */
  zone(zone: string, nameServers: string[], parent?: DnsServer[]): Promise<DnsServer[]>
  close(): Promise<void>
}

const FIRST_PORT = 12_000
const PORTS = 18_000
let lastNetwork = 0

export async function startDnsTree(): Promise<DnsTree> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnPort(FIRST_PORT + Math.floor(Math.random() * PORTS))
    } catch (error) {
      if (attempt === 20) throw error // otherwise the port is in use
    }
  }
}

async function startOnPort(port: number): Promise<DnsTree> {
  const started: DnsServer[] = []
  const network = ++lastNetwork
  const start = async (zones?: string[]) => {
    const ip = `127.${100 + (network >> 8)}.${network & 255}.${started.length + 1}`
    const options = zones ? { authoritative: true, zones } : {}
    const server = await startDnsServer({ ip, port, ...options })
    started.push(server)
    return server
  }
  const root = await start([''])
  root.set('', 'SOA', ['root. hostmaster. 1 1800 900 604800 86400'])
  return {
    root,
    server: start,
    async zone(zone, nameServers, parents = [root]) {
      const servers: DnsServer[] = []
      for (const _ of nameServers) servers.push(await start([zone]))
      const glue = Object.fromEntries(nameServers.map((name, index) => [name, [servers[index]!.address.ip]]))
      for (const parent of parents) parent.delegate(zone, glue)
      for (const server of servers) server.set(zone, 'NS', nameServers)
      return servers
    },
    async close() {
      await Promise.all(started.map((server) => server.close()))
    },
  }
}

/** The addresses of servers in the format of a setting. */
export function formatServers(servers: readonly DnsServer[]): string {
  return servers.map(({ address }) => formatServer(address)).join(',')
}
