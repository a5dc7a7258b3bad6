import { expect, test } from 'vitest'
import { pairValues } from './pairs.ts'

const none = { missing: [], extra: [] }

test('missing and extra values come first, in their own columns', () => {
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

test('an expected value is paired with the value that contains its words', () => {
  expect(pairValues(['mail.example.com'], ['10 mx.example.com', '20 mail.example.com'], none)).toEqual([
    { expected: ['mail.example.com'], current: ['20 mail.example.com'], mark: 'met' },
    { expected: [], current: ['10 mx.example.com'], mark: 'allowed' },
  ])
  expect(pairValues(['v=DMARC1; p=reject'], ['v=DMARC1;p=reject; pct=100'], none)[0]?.mark).toBe('met')
})

test('an address block is paired with all remaining values', () => {
  expect(pairValues(['192.0.2.0/24'], ['192.0.2.1', '192.0.2.7'], none)).toEqual([
    { expected: ['192.0.2.0/24'], current: ['192.0.2.1', '192.0.2.7'], mark: 'met' },
  ])
})

test('each of several equal values is paired once', () => {
  const pairs = pairValues(['mail.example.com', '10 mail.example.com'], ['10 mail.example.com'], none)
  expect(pairs.flatMap(({ current }) => current)).toEqual(['10 mail.example.com'])
})
