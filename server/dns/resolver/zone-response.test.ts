import { expect, test } from 'vitest'
import type { Exchange } from '../outcome.ts'
import { failureOf } from './zone-response.ts'

const nameServers = Array.from({ length: 6 }, (_, at) => ({ name: `ns${at}.example.test`, ips: [`192.0.2.${at + 1}`] }))
const zone = { zone: 'example.test', nameServers, learnedAt: 0, expiresAt: 3_600_000 }

const refusal = (at: number): Exchange => ({
  ...{ path: 'authoritative', name: `ns${at}.example.test`, server: `192.0.2.${at + 1}:53`, transport: 'udp' },
  ...{ rcode: 'REFUSED', flags: [], ede: [], ms: 1, outcome: { kind: 'failure', rcode: 'REFUSED', ede: [] } },
})
const refusals = (count: number) => Array.from({ length: count }, (_, at) => refusal(at))
const silence: Exchange = { ...refusal(4), rcode: null, outcome: { kind: 'timeout' } }

test.each<[string, Exchange[], string]>([
  ['three of six that refuse are no proof for the others', refusals(3), 'failure'],
  ['four of six that refuse are', refusals(4), 'lame'],
  ['a server that refuses twice counts once', [...refusals(3), refusal(0)], 'failure'],
  ['four that refuse beside one that is silent are none', [...refusals(4), silence], 'failure'],
])('a lame zone: %s', (_, evidence, kind) => {
  expect(failureOf(zone, evidence).kind).toBe(kind)
})

test('three of three name servers that refuse make the zone lame', () => {
  expect(failureOf({ ...zone, nameServers: nameServers.slice(0, 3) }, refusals(3)).kind).toBe('lame')
})
