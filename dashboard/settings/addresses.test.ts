import { expect, test } from 'vitest'
import { addressesOf } from './addresses.ts'

test('addresses are split at any separator, without duplicates', () => {
  expect(addressesOf(' a@example.com, b@example.com;\n\nc@example.com a@example.com\n')).toEqual([
    'a@example.com',
    'b@example.com',
    'c@example.com',
  ])
  expect(addressesOf(' \n')).toEqual([])
})
