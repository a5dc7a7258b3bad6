import { expect, test } from 'vitest'
import {
  ANSWERS_TO_PROVE_ABSENCE,
  classifyMembers,
  countAnswers,
  MAX_MEMBERS,
  newRotation,
  presenceProbability,
  type Rotation,
} from './rotation.ts'

const AT = Date.UTC(2026, 10, 22)

function answer(...values: string[]) {
  const rrset = { name: 'www.example.test', type: 'A' as const, ttl: 60, values }
  return { kind: 'answer' as const, rrset, chain: [] }
}

/** So many answers, from two name servers in turn. */
function seen(rotation: Rotation, count: number, ...values: string[]): Rotation {
  return countAnswers(
    rotation,
    Array.from({ length: count }, (_, at) => ({ answer: answer(...values), server: `ns${at % 2}`, at: AT })),
  )
}

test('270 answers without a value prove that no member of 5 % has it', () => {
  expect(ANSWERS_TO_PROVE_ABSENCE).toBe(270)
})

test('a member that came with every second answer is proven gone after a few dozen without it, not before', () => {
  const half = seen(seen(newRotation(AT), 100, 'a'), 100, 'b')
  const still = seen(half, 5, 'b')
  expect(classifyMembers(seen(newRotation(AT), 4, 'a', 'b'), 2).gone).toEqual([])
  expect(classifyMembers(still, 2).gone).toEqual(['a'])
})

test('a member that comes seldom is missed for long before it is gone', () => {
  let rotation = newRotation(AT)
  for (let round = 0; round < 10; round++) rotation = seen(seen(rotation, 19, 'a'), 1, 'rare')
  const member = () => rotation.members.rare!
  rotation = seen(rotation, 60, 'a')
  expect(presenceProbability(rotation, member())).toBeGreaterThan(1e-3)
  rotation = seen(rotation, 600, 'a')
  expect(presenceProbability(rotation, member())).toBeLessThan(1e-5)
})

test('one of several servers proves no member', () => {
  const rotation = countAnswers(seen(newRotation(AT), 10, 'a'), [
    { answer: answer('x'), server: 'ns1', at: AT },
    { answer: answer('x'), server: 'ns1', at: AT },
  ])
  expect(classifyMembers(rotation, 2).candidates).toEqual(['x'])
  expect(classifyMembers(rotation, 1).present).toEqual(['a', 'x'])
})

test('the copy of a cache counts once until it expires', () => {
  const copy = (at: number) => ({ answer: answer('a'), server: 'r', at, expiresAt: AT + 60_000 })
  const rotation = countAnswers(newRotation(AT), [copy(AT), copy(AT + 1_000), copy(AT + 59_000)])
  expect(rotation.answers).toBe(1)
  expect(countAnswers(rotation, [{ ...copy(AT + 60_000), expiresAt: AT + 120_000 }]).answers).toBe(2)
})

test('members are bounded, and older answers come to count less', () => {
  let rotation = newRotation(AT)
  for (let at = 0; at < 200; at++) rotation = seen(rotation, 10, `192.0.2.${at}`)
  expect(Object.keys(rotation.members).length).toBe(MAX_MEMBERS)
  expect(rotation.answers).toBeLessThanOrEqual(1_010)
  expect(JSON.stringify(rotation).length).toBeLessThan(20_000)
})

test('what was given whole for as long as it was recorded is proven gone by few answers', () => {
  const rotation = newRotation(AT, ['a', 'b'])
  expect(classifyMembers(seen(rotation, 3, 'a'), 2).gone).toEqual([])
  expect(classifyMembers(seen(rotation, 10, 'a'), 2).gone).toEqual(['b'])
})

test('a value may be any text', () => {
  const odd = ['__proto__', 'constructor', '"', '']
  const rotation: Rotation = JSON.parse(JSON.stringify(seen(newRotation(AT), 4, ...odd)))
  expect(classifyMembers(seen(rotation, 4, ...odd), 2).present).toEqual([...odd].sort())
})
