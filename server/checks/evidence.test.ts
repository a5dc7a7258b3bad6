import { expect, test } from 'vitest'
import type { VerdictReason } from '#contract/reasons.ts'
import { recordTypeOf } from '../record-types/record-types.ts'
import type { Observation } from './check-state.ts'
import { delegationOf, newDiagnosis, evidenceOf as pathsOf, type TimestampedExchange, withLatest } from './evidence.ts'
import type { Confirmation } from './reasons.ts'
import { evaluate } from './verdict.ts'

const AT = Date.UTC(2026, 10, 22, 9, 30)
const REASON: VerdictReason = { code: 'no_answer', params: { name: 'www.example.com' } }
const confirmedBy = (code: 'resolver_confirmed' | 'resolvers_agree' | 'resolvers_disagree'): Confirmation => [
  { code, params: {} },
]
const WHY = { reason: REASON, confirmation: confirmedBy('resolver_confirmed'), at: AT }

function evidenceOf(server: string, values: string[]): TimestampedExchange {
  return {
    server,
    transport: 'udp',
    rcode: 'NOERROR',
    flags: ['aa'],
    ede: [],
    ms: 1,
    at: AT,
    outcome: { kind: 'answer', rrset: { name: 'a', type: 'TXT', ttl: 60, values }, chain: [] },
  }
}

test('every path says whether it is recursive or authoritative', () => {
  const authoritative: TimestampedExchange = {
    ...evidenceOf('192.0.2.53:53', ['x']),
    path: 'authoritative',
    name: 'ns1.example.com',
  }
  const { paths } = newDiagnosis(WHY, [evidenceOf('192.0.2.1:53', ['x']), authoritative])
  expect(paths.map(({ path, name }) => [path, name])).toEqual([
    ['recursive', undefined],
    ['authoritative', 'ns1.example.com'],
  ])
})

test('however much was answered, it stays within its size, and keeps how it began and how it ended', () => {
  const texts = Array.from({ length: 500 }, (_, at) => `${at} ${'"'.repeat(4_000)}`)
  const evidence = Array.from({ length: 60 }, (_, at) => evidenceOf(`server ${at}`, at % 20 === 0 ? texts : ['short']))
  const diagnosis = newDiagnosis(WHY, [...evidence, evidenceOf('last', ['x'])])
  const text = JSON.stringify(diagnosis)
  expect(text.length).toBeLessThanOrEqual(16_384)
  const { verdict, confirmation, paths } = diagnosis
  expect([verdict, confirmation, paths.at(-1)!.server]).toEqual([REASON, confirmedBy('resolver_confirmed'), 'last'])
})

test('a diagnosis says when it was reached and when each query was sent', () => {
  const { at, paths } = newDiagnosis(WHY, [evidenceOf('192.0.2.1:53', ['x'])])
  expect([at, paths[0]!.at]).toEqual(['2026-11-22T09:30:00.000Z', '2026-11-22T09:30:00.000Z'])
})

test('a later check that changed nothing is kept beside the last change, within the same size', () => {
  const long = Array.from({ length: 200 }, (_, at) => evidenceOf(`server ${at}`, ['y'.repeat(400)]))
  const first = withLatest(
    newDiagnosis(WHY, long),
    { confirmation: confirmedBy('resolvers_agree'), at: AT + 60_000 },
    long,
  )
  const second = withLatest(first, { confirmation: confirmedBy('resolvers_disagree'), at: AT + 120_000 }, long)
  expect(second).toMatchObject({
    verdict: REASON,
    confirmation: confirmedBy('resolver_confirmed'),
    latest: { confirmation: confirmedBy('resolvers_disagree') },
  })
  expect(second.latest!.at).toBe('2026-11-22T09:32:00.000Z')
  expect(second.latest!.paths.length).toBeGreaterThan(0)
  expect(JSON.stringify(second).length).toBeLessThanOrEqual(16_384)
})

test('a reason with many long values is shortened and marked; its counts stay', () => {
  const values = Array.from({ length: 2_000 }, (_, at) => `${at} ${'\u0001'.repeat(900)}`)
  const expectation = {
    recordType: recordTypeOf('TXT'),
    expectedValues: values.slice(0, 10),
    isExactMatch: true,
    owner: 'a.test',
  } as const
  const rrset = { name: 'a.test', type: 'TXT' as const, ttl: 60, values }
  const { reason } = evaluate(expectation, { kind: 'answer', rrset, chain: [] })
  const { verdict } = newDiagnosis({ ...WHY, reason }, [])
  expect(JSON.stringify(verdict).length).toBeLessThanOrEqual(5_000)
  expect(verdict).toMatchObject({ code: 'extra_values', params: { truncated: true, counts: { observed: 2_000 } } })
  expect(newDiagnosis(WHY, []).verdict).toBe(REASON)
})

test('the queries for name servers, on which a verdict of split horizon rests, are in the evidence', () => {
  const replyOf = (server: string) => {
    const { at: _, ...exchange } = evidenceOf(server, [server])
    return { outcome: exchange.outcome!, evidence: [exchange] }
  }
  const instant = { at: AT, elapsed: 0 }
  const nsReply = {
    ...replyOf('192.0.2.3:53'),
    zone: 'example.com',
    nameServers: [],
    nameServer: 'ns',
    isFromCache: false,
  }
  const observations: Observation[] = [
    { query: { purpose: 'first' }, reply: replyOf('192.0.2.1:53'), ...instant },
    {
      query: { purpose: 'resolver_ns', name: 'example.com', servers: [], attempts: 1 },
      reply: replyOf('192.0.2.2:53'),
      ...instant,
    },
    { query: { purpose: 'zone_ns', name: 'example.com' }, nsReply, ...instant },
  ]
  expect(pathsOf(observations).map(({ server }) => server)).toEqual(['192.0.2.1:53', '192.0.2.2:53', '192.0.2.3:53'])
})

test('what the servers above the zone say is in the evidence, most frequent first, and never long', () => {
  const names = (count: number, length = 0) =>
    Array.from({ length: count }, (_, at) => `ns${at}.${'x'.repeat(length)}.example.com`)
  const viewOf = (view: object): Observation =>
    ({ query: { purpose: 'delegation' }, at: AT, elapsed: 0, view: { ...VIEW, ...view } }) as unknown as Observation
  const VIEW = { zone: 'example.com', parentZone: 'com', ownNameServers: null, isUnknown: false }
  const parents = [
    { server: 'a.com', nameServers: null },
    { server: 'b.com', nameServers: names(2) },
    { server: 'c.com', nameServers: names(2) },
  ]
  expect(delegationOf([viewOf({ parents })])).toEqual({
    ...{ zone: 'example.com', parent: 'com', own_name_servers: null },
    parents: [
      { servers: ['b.com', 'c.com'], name_servers: names(2) },
      { servers: ['a.com'], name_servers: null },
    ],
  })
  const hostile = names(100, 200).map((server, at) => ({ server, nameServers: names(13 + at, 200) }))
  const long = delegationOf([viewOf({ parents: hostile, ownNameServers: names(100, 200) })])
  expect(long).toMatchObject({ truncated: true })
  expect(JSON.stringify(long).length).toBeLessThanOrEqual(2_000)
  expect(delegationOf([viewOf({ isUnknown: true, parents })])).toBeUndefined()
  expect(delegationOf([])).toBeUndefined()
})
