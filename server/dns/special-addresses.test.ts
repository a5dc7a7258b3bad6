import { expect, test } from 'vitest'
import { SPECIAL_ADDRESSES } from '../testing/fixtures/special-addresses.ts'
import { isSpecialAddress } from './special-addresses.ts'

test('an address that no webhook may go to is no address of a public name server', () => {
  expect(SPECIAL_ADDRESSES.filter(([ip]) => !isSpecialAddress(ip))).toEqual([])
  expect(['8.8.8.8', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8'].filter(isSpecialAddress)).toEqual([])
})
