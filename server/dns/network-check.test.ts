import { expect, test } from 'vitest'
import type { Clock } from '../clock.ts'
import type { DnsClient } from './client.ts'
import { createNetworkCheck } from './network-check.ts'
import type { Outcome } from './outcome.ts'

const answer: Outcome = {
  kind: 'answer',
  rrset: { name: 'a.test', type: 'A', ttl: 60, values: ['192.0.2.1'] },
  chain: [],
}

function givenCanaries({ isOptional = false }: { isOptional?: boolean } = {}) {
  const names = ['a.test', 'b.test']
  let now = 0
  let outcomes: Record<string, Outcome | 'closed'> = {}
  let below: Outcome | undefined
  let areRootsLost = false
  const clock: Clock = { now: () => now, elapsed: () => now, sleep: async () => {} }
  const asked: string[] = []
  const notices: string[] = []
  const dns: DnsClient = {
    servers: [],
    statuses: () => [],
    query: async ({ name }) => {
      const isBelow = name.startsWith('zw-')
      asked.push(isBelow ? name.replace(/^zw-[0-9a-f]{12}/, '*') : name)
      const known = isBelow ? (outcomes[name.replace(/^zw-[0-9a-f]{12}/, '*')] ?? below) : outcomes[name]
      const outcome = known ?? { kind: 'timeout' }
      if (outcome === 'closed') throw new Error('The DNS client is closed.')
      return { outcome, evidence: [] }
    },
    close: async () => {},
  }
  const canaries = createNetworkCheck({
    dns,
    clock,
    canaries: names,
    isOptional,
    areRootsLost: async () => areRootsLost,
    onOutage: () => notices.push('outage'),
    onRecovery: () => notices.push('recovery'),
  })
  return {
    canaries,
    asked,
    notices,
    advance: (ms: number) => {
      now += ms
    },
    resolve: (those: Record<string, Outcome | 'closed'>) => {
      outcomes = those
      below = { kind: 'nxdomain', chain: [] }
    },
    loseRoots: () => {
      areRootsLost = true
    },
  }
}

test('one name that resolves is enough', async () => {
  const { canaries, resolve } = givenCanaries()
  resolve({ 'a.test': { kind: 'failure', rcode: 'SERVFAIL', ede: [] }, 'b.test': answer })
  expect(await canaries.state()).toBe('ok')
  resolve({ 'a.test': { kind: 'nxdomain', chain: [] } })
  expect(await canaries.state()).toBe('ok') // known for a while
})

test('many checks at once share one probe, and one soon after uses it', async () => {
  const { canaries, asked, advance } = givenCanaries()
  const found = await Promise.all(Array.from({ length: 1_000 }, () => canaries.state()))
  expect(new Set(found)).toEqual(new Set(['offline']))
  expect(asked).toEqual(['nothing.invalid', 'a.test', 'b.test', '*.a.test', '*.b.test'])
  advance(1_000)
  await canaries.state()
  expect(asked).toHaveLength(5)
  advance(1_500)
  await canaries.state()
  expect(asked).toHaveLength(10)
})

test('an outage is reported once, and so is its end, which an answer shows', async () => {
  const { canaries, notices, advance, resolve, asked } = givenCanaries()
  for (let round = 0; round < 5; round++) {
    await canaries.state()
    advance(3_000)
  }
  expect(notices).toEqual(['outage'])
  resolve({ 'a.test': answer })
  canaries.noteAnswer()
  await expect.poll(() => notices).toEqual(['outage', 'recovery'])
  const before = asked.length
  canaries.noteAnswer()
  expect(asked).toHaveLength(before) // all is well, so nothing needs to be found out
})

test('a client that is being closed is no outage', async () => {
  const { canaries, notices, resolve } = givenCanaries()
  resolve({ 'a.test': 'closed', 'b.test': 'closed' })
  await expect(canaries.state()).rejects.toThrow('closed')
  expect(notices).toEqual([])
})

test('names that resolve to what a name that cannot exist resolves to prove nothing', async () => {
  const { canaries, resolve, advance } = givenCanaries()
  resolve({ 'a.test': answer, 'b.test': answer, 'nothing.invalid': answer })
  expect(await canaries.state()).toBe('captive_portal')
  const other: Outcome = { ...answer, rrset: { ...answer.rrset, values: ['192.0.2.2'] } }
  resolve({ 'a.test': answer, 'b.test': other, 'nothing.invalid': answer }) // an advertisement for what does not exist
  advance(3_000)
  expect(await canaries.state()).toBe('ok')
})

test('a canary from the cache of the resolver proves nothing: a name below it must be answered', async () => {
  const { canaries, resolve, advance } = givenCanaries()
  const servfail: Outcome = { kind: 'failure', rcode: 'SERVFAIL', ede: [] }
  resolve({ 'a.test': answer, 'b.test': answer, '*.a.test': servfail, '*.b.test': { kind: 'timeout' } })
  expect(await canaries.state()).toBe('offline')
  resolve({ 'a.test': answer, 'b.test': answer, '*.a.test': servfail, '*.b.test': { kind: 'nodata', chain: [] } })
  advance(3_000)
  expect(await canaries.state()).toBe('ok')
})

test('failures of five unrelated zones within a minute, with lost root servers, are a fault of the own network', async () => {
  const { canaries, resolve, advance, loseRoots } = givenCanaries()
  resolve({ 'a.test': answer })
  for (const zone of ['a', 'b', 'c', 'd', 'd', 'd']) canaries.noteFailure(`www.${zone}.example`)
  loseRoots()
  expect(await canaries.state()).toBe('ok') // four zones
  canaries.noteFailure('www.e.example')
  advance(3_000)
  expect(await canaries.state()).toBe('offline')
  advance(60_000)
  expect(await canaries.state()).toBe('ok') // the failures are old
})

test('in a network without public DNS, optional canaries say nothing after ten minutes', async () => {
  const { canaries, advance } = givenCanaries({ isOptional: true })
  canaries.noteAnswer()
  expect(await canaries.state()).toBe('offline')
  advance(10 * 60_000)
  expect(await canaries.state()).toBe('ok')
})

test('optional canaries that resolved once are not optional any more', async () => {
  const { canaries, advance, resolve } = givenCanaries({ isOptional: true })
  canaries.noteAnswer()
  resolve({ 'a.test': answer })
  expect(await canaries.state()).toBe('ok')
  resolve({})
  advance(10 * 60_000)
  expect(await canaries.state()).toBe('offline')
})
