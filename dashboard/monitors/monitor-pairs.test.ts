import { expect, test } from 'vitest'
import { pairValues } from './monitor-pairs.ts'

const none = { missing: [], extra: [] }

test('what is missing and what is extra come first, each on its own side', () => {
  expect(
    pairValues(['192.0.2.1', '192.0.2.2'], ['192.0.2.2', '192.0.2.9'], {
      missing: ['192.0.2.1'],
      extra: ['192.0.2.9'],
    }),
  ).toEqual([
    { expected: ['192.0.2.1'], current: [], mark: 'missing' },
    { expected: [], current: ['192.0.2.9'], mark: 'extra' },
    { expected: ['192.0.2.2'], current: ['192.0.2.2'], mark: 'met' },
  ])
})

test('an expectation is beside the value that has all its words', () => {
  expect(pairValues(['mail.example.com'], ['10 mx.example.com', '20 mail.example.com'], none)).toEqual([
    { expected: ['mail.example.com'], current: ['20 mail.example.com'], mark: 'met' },
    { expected: [], current: ['10 mx.example.com'], mark: 'allowed' },
  ])
  expect(pairValues(['v=DMARC1; p=reject'], ['v=DMARC1;p=reject; pct=100'], none)[0]?.mark).toBe('met')
})

test('what meets a block of addresses is not guessed: all of the rest is beside it', () => {
  expect(pairValues(['192.0.2.0/24'], ['192.0.2.1', '192.0.2.7'], none)).toEqual([
    { expected: ['192.0.2.0/24'], current: ['192.0.2.1', '192.0.2.7'], mark: 'met' },
  ])
})

test('of equal values each is used once', () => {
  const pairs = pairValues(['mail.example.com', '10 mail.example.com'], ['10 mail.example.com'], none)
  expect(pairs.flatMap(({ current }) => current)).toEqual(['10 mail.example.com'])
})
