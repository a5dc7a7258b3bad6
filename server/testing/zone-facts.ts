import type { ServerVerdict } from '../dns/dnssec/server-validator.ts'
import { DAY_MS } from '../times.ts'
import type { ServerAnswer, ServerFacts, ServerResponse, ZoneFacts } from '../zones/facts.ts'

export const NOW = Date.parse('2026-11-21T09:30:00Z')
const SECURE: ServerVerdict = { kind: 'secure', expiresAt: NOW + 10 * DAY_MS, ede: [] }
export const SOA = {
  mname: 'ns1.example.com',
  rname: 'hostmaster.example.com',
  serial: 100,
  refresh: 3_600,
  retry: 600,
  expire: 604_800,
  minimum: 300,
}
/** Signed a day ago, for 14 days. */
const SIGNATURES = ['SOA', 'NS', 'DNSKEY'].map((type) => ({
  type,
  keyTag: 1,
  inception: NOW - DAY_MS,
  expiration: NOW + 13 * DAY_MS,
}))
const DIGEST = Buffer.alloc(32)

export const healthyAnswer = (changes: Partial<ServerAnswer> = {}): ServerResponse => ({
  kind: 'answers',
  soa: SOA,
  nameServers: ['ns1.example.com', 'ns2.example.net'],
  signatures: SIGNATURES,
  keys: [{ keyTag: 1, algorithm: 13 }],
  tcp: true,
  verdict: SECURE,
  ...changes,
})

/** ns1.example.com, inside the zone. */
export const firstServer = (changes: Partial<ServerFacts> = {}): ServerFacts => ({
  name: 'ns1.example.com',
  isDelegated: true,
  isInZone: true,
  ips: ['192.0.2.1'],
  glue: { delegation: ['192.0.2.1'], zone: ['192.0.2.1', '2001:db8::1'] },
  response: healthyAnswer(),
  ...changes,
})

/** ns2.example.net, in another zone and another network. */
export const secondServer = (changes: Partial<ServerFacts> = {}): ServerFacts => ({
  name: 'ns2.example.net',
  isDelegated: true,
  isInZone: true,
  ips: ['198.51.100.2'],
  glue: null,
  response: healthyAnswer(),
  ...changes,
})

/** A signed zone without faults. */
export const healthyFacts = (changes: Partial<ZoneFacts> = {}): ZoneFacts => ({
  zone: 'example.com',
  at: NOW,
  delegation: { nameServers: ['ns1.example.com', 'ns2.example.net'] },
  parentZone: '',
  servers: [firstServer(), secondServer()],
  ds: [{ keyTag: 1, algorithm: 13, digestType: 2, digest: DIGEST }],
  nsec3Iterations: 0,
  registration: null,
  ...changes,
})

export const absentFacts = (changes: Partial<ZoneFacts> = {}): ZoneFacts =>
  healthyFacts({ delegation: null, parentZone: 'com', servers: [], ds: null, nsec3Iterations: null, ...changes })
