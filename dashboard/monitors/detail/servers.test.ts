import { expect, test } from 'vitest'
import type { DiagnosisPath, DnsOutcome } from '#contract/diagnosis.ts'
import { agreementText, groupByServer } from './servers.ts'

const path = (server: string, outcome: DnsOutcome | null, more: Partial<DiagnosisPath> = {}): DiagnosisPath => ({
  ...{ server, path: 'authoritative', transport: 'udp', rcode: 'NOERROR', flags: [], ede: [], ms: 1, outcome },
  ...more,
})
const answer = (
  values: string[],
  ttl = 60,
  chain: { name: string; target: string; ttl: number }[] = [],
): DnsOutcome => ({
  ...{ kind: 'answer', rrset: { name: 'www.example.com', type: 'A', ttl, values }, chain },
})
const NXDOMAIN: DnsOutcome = { kind: 'nxdomain', chain: [] }
const TIMEOUT: DnsOutcome = { kind: 'timeout' }

test('one row for each server, which agrees with most of those that answered, in any order of records and with any TTL', () => {
  const { servers, ...counts } = groupByServer([
    path('192.0.2.1:53', answer(['203.0.113.1', '203.0.113.2'], 10)),
    path('192.0.2.2:53', answer(['203.0.113.2', '203.0.113.1'], 60)),
    path('192.0.2.3:53', NXDOMAIN),
    path('192.0.2.4:53', TIMEOUT),
    path('192.0.2.4:53', TIMEOUT),
  ])
  expect(servers.map(({ standing, exchanges }) => [standing, exchanges.length])).toEqual([
    ['agrees', 1],
    ['agrees', 1],
    ['differs', 1],
    [undefined, 2],
  ])
  expect(counts).toEqual({ answering: 3, agreeing: 2, silent: 1 })
})

test('an answer after a lost packet counts, and different answers of one server are all shown', () => {
  const { servers } = groupByServer([
    path('192.0.2.1:53', TIMEOUT),
    path('192.0.2.1:53', answer(['203.0.113.1'])),
    path('192.0.2.1:53', answer(['203.0.113.2'])),
    path('192.0.2.1:53', answer(['203.0.113.1'])),
  ])
  expect(servers).toHaveLength(1)
  expect(servers[0]!.answers.map(({ outcome }) => outcome)).toEqual([answer(['203.0.113.1']), answer(['203.0.113.2'])])
})

test('answers to other questions do not count', () => {
  const { servers, ...counts } = groupByServer([
    path('192.0.2.1:53', answer(['203.0.113.1']), { path: 'recursive' }),
    path('192.0.2.1:53', NXDOMAIN, { path: 'recursive', question: { name: 'zw-1.example.com', type: 'A' } }),
    path('192.0.2.2:53', { kind: 'nodata', chain: [] }, { question: { name: 'example.com', type: 'DS' } }),
  ])
  expect(servers.map(({ standing, answers }) => [standing, answers.length])).toEqual([
    ['agrees', 1],
    [undefined, 1],
  ])
  expect(counts).toEqual({ answering: 1, agreeing: 1, silent: 0 })
})

test("a name server that knows only a CNAME record agrees with a resolver that followed it; the parent's referral is no answer", () => {
  const link = { name: 'www.example.com', target: 'shop.example.net', ttl: 60 }
  const referral = (chain: (typeof link)[]): DnsOutcome => ({
    kind: 'referral',
    chain,
    nameServers: [],
    glue: [],
    ttl: 60,
  })
  const { servers } = groupByServer([
    path('192.0.2.53:53', answer(['203.0.113.1'], 60, [link]), { path: 'recursive' }),
    path('192.0.2.9:53', referral([])),
    path('192.0.2.1:53', referral([link])),
    path('192.0.2.2:53', referral([{ ...link, target: 'old.example.net' }])),
  ])
  expect(servers.map(({ standing }) => standing)).toEqual(['agrees', undefined, 'agrees', 'differs'])
})

test('the name servers decide what the others are compared with, and parts of a rotating RRset agree', () => {
  const stale = (server: string) => path(server, answer(['198.51.100.1']), { path: 'recursive' })
  const moved = groupByServer([
    stale('192.0.2.53:53'),
    stale('192.0.2.54:53'),
    path('192.0.2.1:53', answer(['203.0.113.1'])),
  ])
  expect(moved.servers.map(({ standing }) => standing)).toEqual(['differs', 'differs', 'agrees'])
  const rotating = groupByServer([
    path('192.0.2.1:53', answer(['203.0.113.1'])),
    path('192.0.2.1:53', answer(['203.0.113.2'])),
    path('192.0.2.2:53', answer(['203.0.113.3'])),
    path('192.0.2.3:53', NXDOMAIN),
  ])
  expect(rotating.servers.map(({ standing }) => standing)).toEqual(['agrees', 'agrees', 'differs'])
})

test('the sentence about them counts', () => {
  expect(agreementText({ answering: 4, agreeing: 3, silent: 1 })).toBe(
    '3 of 4 servers that answered agree; 1 gave no usable answer.',
  )
  expect(agreementText({ answering: 2, agreeing: 2, silent: 0 })).toBe('All 2 servers that answered agree.')
  expect(agreementText({ answering: 1, agreeing: 1, silent: 0 })).toBe('One server answered.')
  expect(agreementText({ answering: 0, agreeing: 0, silent: 2 })).toBe('No server gave a usable answer.')
})
