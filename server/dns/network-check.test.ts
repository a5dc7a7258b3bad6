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

function givenCanaries(names = ['a.test', 'b.test']) {
  let now = 0
  let outcomes: Record<string, Outcome | 'closed'> = {}
  const clock: Clock = { now: () => now, elapsed: () => now, sleep: async () => {} }
  const asked: string[] = []
  const notices: string[] = []
  const dns: DnsClient = {
    servers: [],
    statuses: () => [],
    query: async ({ name }) => {
      asked.push(name)
      const outcome = outcomes[name] ?? { kind: 'timeout' }
      if (outcome === 'closed') throw new Error('The DNS client is closed.')
      return { outcome, evidence: [] }
    },
    close: async () => {},
  }
  const canaries = createNetworkCheck({
    dns,
    clock,
    canaries: names,
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
    },
  }
}

test('one name that resolves is enough', async () => {
  const { canaries, resolve } = givenCanaries()
  resolve({ 'a.test': { kind: 'failure', rcode: 'SERVFAIL', ede: [] }, 'b.test': answer })
  expect(await canaries.state()).toBe('well')
  resolve({ 'a.test': { kind: 'nxdomain', chain: [] } })
  expect(await canaries.state()).toBe('well') // known for a while
})

test('many checks at once share one probe, and one soon after uses it', async () => {
  const { canaries, asked, advance } = givenCanaries()
  const found = await Promise.all(Array.from({ length: 1_000 }, () => canaries.state()))
  expect(new Set(found)).toEqual(new Set(['gone']))
  expect(asked).toEqual(['nothing.invalid', 'a.test', 'b.test'])
  advance(1_000)
  await canaries.state()
  expect(asked).toHaveLength(3)
  advance(1_500)
  await canaries.state()
  expect(asked).toHaveLength(6)
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
  expect(await canaries.state()).toBe('captive')
  const other: Outcome = { ...answer, rrset: { ...answer.rrset, values: ['192.0.2.2'] } }
  resolve({ 'a.test': answer, 'b.test': other, 'nothing.invalid': answer }) // an advertisement for what does not exist
  advance(3_000)
  expect(await canaries.state()).toBe('well')
})
