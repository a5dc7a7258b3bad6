import type { QuestionType } from '#server/dns/outcome.ts'
import type { DnsServer } from '#server/testing/dns-server.ts'
import { formatServers, startDnsTree } from '#server/testing/dns-server-tree.ts'

/** Zones with their own name servers. All other names are in the zone above. */
const ZONES: Record<string, string[]> = {
  'northwind.example': ['ns1.northwind.example', 'ns2.northwind.example'],
  'harbor.example': ['ns1.harbor.example', 'ns2.harbor.example'],
  'lumen.example': ['ns1.lumen.example', 'ns2.lumen.example'],
  'orchard.example': ['ns1.dns.example', 'ns2.dns.example', 'ns3.dns.example'],
  'quarry.example': ['ns1.quarry.example', 'ns2.quarry.example'],
}
/** It is delegated to, refuses all queries, and is not in the NS records of its zone. */
const LAME = 'ns3.dns.example'

/** Sets what a resolver and the name servers of the zone answer. */
export type ShowcaseDns = Pick<DnsServer, 'fail' | 'drop'> & {
  set(name: string, type: QuestionType, values: string[]): void
}

/** A root, a top-level domain, five zones below it, and a resolver in front of them. `settings`: of a server that uses them. */
export async function startShowcaseDns() {
  const tree = await startDnsTree()
  const resolver = await tree.server()
  const parents = await tree.zone('example', ['a.nic.example', 'b.nic.example'])
  const zones = new Map<string, DnsServer[]>()
  for (const [zone, names] of Object.entries(ZONES)) {
    const servers = await tree.zone(zone, names, parents)
    zones.set(zone, servers)
    for (const [index, server] of servers.entries()) {
      server.set(zone, 'SOA', [`${names[0]} hostmaster.${zone} 2026112701 1800 900 604800 300`])
      server.set(
        zone,
        'NS',
        names.filter((name) => name !== LAME),
      )
      if (names[index] === LAME) for (const name of [zone, `www.${zone}`]) server.fail(name, 'REFUSED')
    }
  }
  const responsible = (name: string) => {
    const zone = [...zones.keys()].find((each) => name === each || name.endsWith(`.${each}`))
    return [resolver, ...(zone ? zones.get(zone)! : name.endsWith('.example') ? parents : [tree.root])]
  }
  const dns: ShowcaseDns = {
    set: (name, type, values) => responsible(name).forEach((server) => void server.set(name, type, values)),
    fail: (name, rcode, ede) => responsible(name).forEach((server) => void server.fail(name, rcode, ede)),
    drop: (name) => responsible(name).forEach((server) => void server.drop(name)),
  }
  const settings = { DNS_SERVERS: formatServers([resolver]), DNS_ROOTS: formatServers([tree.root]) }
  return { dns, settings, close: () => tree.close() }
}
