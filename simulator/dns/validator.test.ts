import { expect, test } from 'vitest'
import { type Response, type RRset, response, type Signature } from './message.ts'
import { validate } from './validator.ts'

const SIGNATURE: Signature = { key: 'k1', from: 0, until: 1_000 }
const withAnswer = (rrset: RRset): Response => response('NOERROR', true, { answer: [rrset] })
const ds = (...values: string[]) => withAnswer({ name: 'shop.demo', type: 'DS', ttl: 60, values })
const NO_DS = response('NOERROR', true)
const keys = (...values: string[]) =>
  withAnswer({ name: 'shop.demo', type: 'DNSKEY', ttl: 60, values, signature: SIGNATURE })
const records = (signature?: Signature) =>
  withAnswer({ name: 'www.shop.demo', type: 'A', ttl: 60, values: ['192.0.2.1'], ...(signature && { signature }) })
const kindOf = (...args: [(Response | undefined)[], Response | undefined, Response | undefined, number?]) => {
  const [parents, keyResponse, own, time = 10] = args
  const validated = validate('shop.demo', parents, keyResponse, own, time)
  return validated.kind === 'bogus' ? `bogus ${validated.code}` : validated.kind
}

test('a signature by a key that a DS record matches is secure until it expires', () => {
  expect(kindOf([ds('k1')], keys('k1'), records(SIGNATURE))).toBe('secure')
  expect(kindOf([ds('k1')], keys('k1'), records(SIGNATURE), 1_000)).toBe('bogus 7')
})

test('a zone without DS records cannot be bogus', () => {
  expect(kindOf([NO_DS], undefined, undefined)).toBe('unsigned')
  expect(kindOf([ds('k2'), NO_DS], keys('k1'), records())).toBe('unsigned')
})

test('records without a signature, or by another key, are bogus', () => {
  expect(kindOf([ds('k1')], keys('k1'), records())).toBe('bogus 10')
  expect(kindOf([ds('k1')], keys('k1'), records({ ...SIGNATURE, key: 'k9' }))).toBe('bogus 9')
  expect(kindOf([ds('k2')], keys('k1'), records(SIGNATURE))).toBe('bogus 9')
})

test('while the servers of the parent differ, the DS records of one of them suffice', () => {
  expect(kindOf([ds('k2'), ds('k1')], keys('k1'), records(SIGNATURE))).toBe('secure')
})

test('what did not arrive is not judged', () => {
  expect(kindOf([undefined], keys('k1'), records(SIGNATURE))).toBe('unknown')
  expect(kindOf([ds('k1'), undefined], undefined, records(SIGNATURE))).toBe('unknown')
  expect(kindOf([ds('k1')], keys('k1'), response('SERVFAIL', false))).toBe('unknown')
})
