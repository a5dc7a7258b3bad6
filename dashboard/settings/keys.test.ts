import { expect, test } from 'vitest'
import { affectedKeys, curlOf, expiryOf, keyCondition } from './keys.ts'

const now = Date.parse('2026-06-01T00:00:00.000Z')

test('a revoked key is revoked even if expired, and a key expires at its exact time', () => {
  const past = '2026-05-01T00:00:00.000Z'
  expect(keyCondition({ revoked: past, expires: past }, now)).toBe('revoked')
  expect(keyCondition({ revoked: null, expires: '2026-06-01T00:00:00.000Z' }, now)).toBe('expired')
  expect(keyCondition({ revoked: null, expires: '2026-06-01T00:00:00.001Z' }, now)).toBe('live')
  expect(keyCondition({ revoked: null, expires: null }, now)).toBe('live')
})

test('an expiry is relative to now', () => {
  expect(expiryOf('30', now)).toBe('2026-07-01T00:00:00.000Z')
  expect(expiryOf('', now)).toBeNull()
})

test('the example request has the URL of the server, with one slash', () => {
  expect(curlOf('zw_1', 'https://dns.example.com/')).toBe(
    "curl -H 'X-Api-Key: zw_1' 'https://dns.example.com/monitors'",
  )
})

test('keys are affected by the removal or the lower role of their creator', () => {
  const limits = { read: null, page: null, write: null, create: null, check: null }
  const rotation = { created_by_key_id: null, rotated: null, previous_expires: null, limits }
  const key = { created: '', created_by: 'Ada', last_used: null, expires: null, revoked: null, ...rotation }
  const keys = [
    { ...key, id: 'key_1', name: 'all', role: 'admin', created_by_id: 'agt_1' },
    { ...key, id: 'key_2', name: 'some', role: 'write', created_by_id: 'agt_1' },
    { ...key, id: 'key_3', name: 'gone', role: 'admin', created_by_id: 'agt_1', revoked: '2026-05-01T00:00:00.000Z' },
    { ...key, id: 'key_4', name: 'other', role: 'admin', created_by_id: 'agt_2' },
  ] as const
  const namesFor = (role: Parameters<typeof affectedKeys>[2]) =>
    affectedKeys(keys, 'agt_1', role, now).map(({ name }) => name)
  expect(namesFor(null)).toEqual(['all', 'some'])
  expect(namesFor('owner')).toEqual([])
  expect(namesFor('member')).toEqual(['all'])
  expect(namesFor('viewer')).toEqual(['all', 'some'])
})
