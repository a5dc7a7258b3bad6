import { expect, test } from 'vitest'
import { valueLine } from './value.ts'

test('a valid monitor shows its expected value once', () => {
  expect(
    valueLine({ state: 'VALID', expected_value: ['192.0.2.1', '192.0.2.2'], current_value: ['192.0.2.1'] }),
  ).toEqual({ expected: { value: '192.0.2.1', more: 1 } })
})

test('a mismatch shows differing values first', () => {
  const line = valueLine({
    state: 'MISMATCH',
    expected_value: ['192.0.2.1', '192.0.2.2'],
    current_value: ['192.0.2.1', '198.51.100.7'],
  })
  expect(line).toEqual({ expected: { value: '192.0.2.2', more: 1 }, found: { value: '198.51.100.7', more: 1 } })
})

test('a name that does not exist shows that nothing was found', () => {
  expect(valueLine({ state: 'NOT_FOUND', expected_value: ['192.0.2.1'], current_value: [] }).found).toBe('nothing')
})

test('after a failed check, earlier values are not shown as found', () => {
  for (const state of ['TIMEOUT', 'INVALID', 'BAD_SETUP', 'UNSET'] as const) {
    expect(valueLine({ state, expected_value: ['192.0.2.1'], current_value: ['198.51.100.7'] }).found).toBeUndefined()
  }
})

test('long values with the same beginning are shown from the first differing word', () => {
  const line = valueLine({
    state: 'MISMATCH',
    expected_value: ['v=spf1 include:_spf.example.com -all'],
    current_value: ['v=spf1 include:_spf.example.com ~all'],
  })
  expect(line).toEqual({ expected: { value: '… -all', more: 0 }, found: { value: '… ~all', more: 0 } })
})
