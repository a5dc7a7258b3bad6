import { expect, test } from 'vitest'
import type { Clock } from '../clock.ts'
import type { Outcome } from '../dns/outcome.ts'
import { fingerprint } from './judge.ts'
import { MOST_SAMPLES, sample, type Voice } from './sampling.ts'

const answer = (...values: string[]): Outcome => ({
  kind: 'answer',
  rrset: { name: 'www.example.com', type: 'A', ttl: 60, values },
  chain: [],
})

const denial: Outcome = { kind: 'nxdomain', chain: [] }

function givenClock(msPerReading = 0): Clock {
  let now = 0
  const elapsed = () => {
    now += msPerReading
    return now
  }
  return { now: () => 0, elapsed, sleep: async () => {} }
}

/** Gives the answers in turn, over and over, and counts how often it was asked. */
function voiceOf(...outcomes: Outcome[]): { voice: Voice; asked: () => number } {
  let asked = 0
  return { voice: async () => outcomes[asked++ % outcomes.length]!, asked: () => asked }
}

test('a set that is always the same is steady, after as many answers as show another member', async () => {
  const { voice, asked } = voiceOf(answer('a'))
  expect(await sample([voice], [answer('a')], 1, givenClock())).toMatchObject({ kind: 'steady' })
  expect(asked()).toBe(19) // 2^-20 < 10^-6
})

test('a large set needs few answers, as one without a member would show at once', async () => {
  const { voice, asked } = voiceOf(answer('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'))
  await sample([voice], [answer('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')], 1, givenClock())
  expect(asked()).toBeLessThan(8)
})

test('a first look takes fewer answers', async () => {
  const { voice, asked } = voiceOf(answer('a'))
  await sample([voice], [answer('a')], null, givenClock())
  expect(asked()).toBeLessThan(8)
})

test('a voice that gives parts in turn is a pool, whole when nearly certain', async () => {
  const { voice } = voiceOf(answer('a', 'b'), answer('b', 'c'), answer('a', 'c'))
  const found = await sample([voice], [answer('a', 'b')], 1, givenClock())
  expect(found).toMatchObject({ kind: 'pool', outcome: { pool: 'whole', rrset: { values: ['a', 'b', 'c'] } } })
})

test('a pool too large to be seen whole is a part, within a bound', async () => {
  const { voice, asked } = voiceOf(...Array.from({ length: 100 }, (_, at) => answer(`m${at}`)))
  const found = await sample([voice], [answer('m0')], 1, givenClock())
  expect(found).toMatchObject({ kind: 'pool', outcome: { pool: 'part' } })
  expect(asked()).toBeLessThanOrEqual(MOST_SAMPLES)
})

test('parts of what is recorded are what is recorded', async () => {
  const { voice } = voiceOf(answer('a'), answer('b'))
  const recorded = fingerprint(answer('a', 'b'))
  expect(await sample([voice], [answer('a')], recorded, givenClock())).toMatchObject({ kind: 'recorded' })
})

test('voices that each keep to their own are divided, soon', async () => {
  const [one, other] = [voiceOf(answer('a')), voiceOf(answer('b'))]
  const found = await sample([one.voice, other.voice], [answer('a'), answer('b')], 1, givenClock())
  expect(found).toEqual({ kind: 'divided' })
  expect(one.asked()).toBeLessThan(5)
})

test('a denial that is always the same is steady after as many as a single value', async () => {
  const { voice, asked } = voiceOf(denial)
  expect(await sample([voice], [denial], 1, givenClock())).toEqual({ kind: 'steady', outcome: denial })
  expect(asked()).toBe(19)
})

test('a voice that answers and sometimes denies wavers, and what it says most often counts', async () => {
  const { voice } = voiceOf(denial, answer('a'), answer('a'))
  const found = await sample([voice], [denial], 1, givenClock())
  expect(found).toMatchObject({ kind: 'wavering', outcome: { kind: 'answer', rrset: { values: ['a'] } } })
})

test('a voice that answers and another that denies are divided', async () => {
  const [one, other] = [voiceOf(answer('a')), voiceOf(denial)]
  expect(await sample([one.voice, other.voice], [answer('a'), denial], 1, givenClock())).toEqual({ kind: 'divided' })
})

test('servers that are slow are not waited for', async () => {
  const { voice, asked } = voiceOf(answer('a'))
  expect(await sample([voice], [answer('a')], 1, givenClock(1_000))).toMatchObject({ kind: 'steady' })
  expect(asked()).toBeLessThan(5)
})
