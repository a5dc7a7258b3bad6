import { expect, test } from 'vitest'
import type { DnsClient } from '../dns/client.ts'
import type { Outcome } from '../dns/outcome.ts'
import { createLookup } from './lookup.ts'

const { signal } = new AbortController()
const nodata: Outcome = { kind: 'nodata', chain: [] }
const nxdomain: Outcome = { kind: 'nxdomain', chain: [] }

function answer(type: 'A' | 'AAAA', values: string[]): Outcome {
  return { kind: 'answer', rrset: { name: 'receiver.test', type, ttl: 60, values }, chain: [] }
}

function lookupAnswering(outcomes: Partial<Record<string, Outcome>>) {
  const dns: DnsClient = {
    servers: [],
    statuses: () => [],
    query: async ({ name, type }) => {
      if (name !== 'receiver.test' || !outcomes[type]) throw new Error(`unexpected question ${name} ${type}`)
      return { outcome: outcomes[type], evidence: [] }
    },
    close: async () => {},
  }
  return createLookup(dns)('receiver.test', signal)
}

test('gives the addresses of both families', async () => {
  const found = lookupAnswering({ A: answer('A', ['192.0.2.1', '192.0.2.2']), AAAA: answer('AAAA', ['2001:db8::1']) })

  expect(await found).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1'])
})

test('one family is enough, also while the other cannot be asked', async () => {
  expect(await lookupAnswering({ A: answer('A', ['192.0.2.1']), AAAA: nodata })).toEqual(['192.0.2.1'])
  expect(await lookupAnswering({ A: answer('A', ['192.0.2.1']), AAAA: { kind: 'timeout' } })).toEqual(['192.0.2.1'])
})

test('a name that does not exist or has no address gives none', async () => {
  expect(await lookupAnswering({ A: nxdomain, AAAA: nxdomain })).toEqual([])
  expect(await lookupAnswering({ A: nodata, AAAA: nodata })).toEqual([])
})

test('a lookup that failed is not taken for a name without addresses', async () => {
  await expect(lookupAnswering({ A: nodata, AAAA: { kind: 'timeout' } })).rejects.toThrow(
    'no name server answered in time',
  )
  await expect(lookupAnswering({ A: { kind: 'failure', rcode: 'SERVFAIL', ede: [] }, AAAA: nodata })).rejects.toThrow(
    'the name server answered SERVFAIL',
  )
})
