import { expect, test } from 'vitest'
import { conditionOf, curlOf, expiryOf } from './keys.ts'

const now = Date.parse('2026-06-01T00:00:00.000Z')

test('a revoked key is revoked, expired or not; one expires in the very instant', () => {
  const past = '2026-05-01T00:00:00.000Z'
  expect(conditionOf({ revoked: past, expires: past }, now)).toBe('revoked')
  expect(conditionOf({ revoked: null, expires: '2026-06-01T00:00:00.000Z' }, now)).toBe('expired')
  expect(conditionOf({ revoked: null, expires: '2026-06-01T00:00:00.001Z' }, now)).toBe('live')
  expect(conditionOf({ revoked: null, expires: null }, now)).toBe('live')
})

test('an expiry counts from now', () => {
  expect(expiryOf('30', now)).toBe('2026-07-01T00:00:00.000Z')
  expect(expiryOf('', now)).toBeNull()
})

test('the first call goes to the address of the server, with one slash', () => {
  expect(curlOf('zw_1', 'https://dns.example.com/')).toBe(
    "curl -H 'X-Api-Key: zw_1' 'https://dns.example.com/monitors'",
  )
})
