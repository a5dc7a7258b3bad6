import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addressOctets, canonicalAddress, ipv6Text } from './ip-addresses.ts'

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['0:0:1:0:0:1:1:1', '::1:0:0:1:1:1'],
  ['1:0:0:1:0:0:0:1', '1:0:0:1::1'],
  ['::', '::'],
  ['::1', '::1'],
  ['1::', '1::'],
  ['::ffff:c000:201', '::ffff:192.0.2.1'],
  ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
  ['fe80::1%eth0', undefined],
  ['192.0.2.01', undefined],
  ['example.com', undefined],
])('the canonical text of %s is %s', (text, canonical) => {
  expect(canonicalAddress(text)).toBe(canonical)
})

test('every IPv6 address survives its text', () => {
  // Zeros are drawn often, or no run would ever be shortened.
  const octet = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 255 }))
  fc.assert(
    fc.property(fc.array(octet, { minLength: 16, maxLength: 16 }), (octets) => {
      expect(Array.from(addressOctets(ipv6Text(Uint8Array.from(octets)))!)).toEqual(octets)
    }),
  )
})
