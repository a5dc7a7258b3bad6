import { expect, onTestFinished, test } from 'vitest'
import { createAuthoritativeClient } from '../dns/resolver/authoritative-client.ts'
import { SOCKETS } from '../dns/upstreams.ts'
import { givenDnsClient } from '../testing/dns.ts'
import type { DnsServer } from '../testing/dns-server.ts'
import { startDnsTree } from '../testing/dns-server-tree.ts'
import { patientClock } from '../testing/patient-clock.ts'
import { lookAtZone } from './look.ts'

const PRIVATE = ['127.0.0.1', '10.0.0.1', '169.254.169.254', '192.168.1.1']
const PRIVATE_6 = ['::1', 'fe80::1', 'fd00::1', '::ffff:10.0.0.1']

test('with public root servers, no zone makes Zonewatch ask private addresses', async () => {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const com = await tree.server(['com'])
  const host = await tree.server(['host.com'])
  const zone = await tree.server(['evil.com', 'glue.com'])
  // Public addresses, which lead to the servers on loopback. All others lead nowhere.
  const places: Record<string, DnsServer> = {
    '198.41.0.4': tree.root,
    '192.5.6.30': com,
    '193.0.14.1': host,
    '193.0.14.2': zone,
  }
  tree.root.delegate('com', { 'a.nic.com': ['192.5.6.30'] })
  com.delegate('host.com', { 'ns.host.com': ['193.0.14.1'] })
  com.delegate('evil.com', { 'hidden.host.com': [], 'mixed.host.com': [] })
  com.delegate('glue.com', { 'ns.glue.com': [...PRIVATE, '193.0.14.2'], 'ns2.glue.com': PRIVATE })
  for (const name of ['hidden', 'mixed', 'own']) {
    host.set(`${name}.host.com`, 'A', name === 'mixed' ? [...PRIVATE, '193.0.14.2'] : PRIVATE)
    host.set(`${name}.host.com`, 'AAAA', PRIVATE_6)
  }
  for (const name of ['evil.com', 'glue.com']) {
    zone.set(name, 'SOA', [`ns.${name} hostmaster.${name} 1 3600 600 604800 300`])
    zone.set(name, 'NS', ['mixed.host.com', 'own.host.com'])
  }
  const asked = new Set<string>()
  const place = <S extends { ip: string }>(server: S): S => {
    asked.add(server.ip)
    return { ...server, ip: places[server.ip]?.address.ip ?? '127.255.255.254' }
  }
  const dns = givenDnsClient([], {
    transports: {
      udp: (server, ...more) => SOCKETS.udp(place(server), ...more),
      tcp: (server, ...more) => SOCKETS.tcp(place(server), ...more),
    },
  })
  const { port } = tree.root.address
  const authoritativeClient = createAuthoritativeClient({
    ...{ dns, clock: patientClock, timeoutMs: 300 },
    roots: [{ ip: '198.41.0.4', port }],
  })
  const unsigned = { validate: async () => ({ kind: 'unsigned', reason: 'no_ds' }) } as never
  const deps = { authoritativeClient, serverValidator: unsigned, packetSender: dns, port, timeoutMs: 300 }
  const servers: Record<string, string> = {}
  for (const name of ['evil.com', 'glue.com']) {
    const more = { ...deps, clock: patientClock, networkCheck: undefined }
    const look = await lookAtZone(name, more, 'org', new AbortController().signal)
    if (look.kind !== 'facts') throw new Error(look.reason)
    for (const { name, ips, response } of look.facts.servers) servers[name] = `${response.kind} ${ips}`
  }

  expect(servers).toEqual({
    'hidden.host.com': 'no_address ',
    'mixed.host.com': 'answers 193.0.14.2',
    'own.host.com': 'no_address ',
    'ns.glue.com': 'answers 193.0.14.2',
    'ns2.glue.com': 'no_address ',
  })
  expect([...asked].sort()).toEqual(Object.keys(places).sort())
})
