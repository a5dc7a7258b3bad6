import ipaddr from 'ipaddr.js'
import { fieldError } from '#contract/field-errors.ts'
import { canonicalAddress, ipv6Text } from '../dns/ip-addresses.ts'
import { type Comparison, compareBy, observeAll } from './compare.ts'
import { type ParsedValue, type RecordType, refused } from './record-type.ts'

type Family = {
  queryType: 'A' | 'AAAA'
  code: number
  name: 'IPv4' | 'IPv6'
  bits: number
  text(octets: Buffer): string
}

/** RFC 1035 section 3.4.1. */
export const a = addressRecord({
  queryType: 'A',
  code: 1,
  name: 'IPv4',
  bits: 32,
  text: ([a, b, c, d]) => `${a}.${b}.${c}.${d}`,
})

/** RFC 3596 section 2. */
export const aaaa = addressRecord({ queryType: 'AAAA', code: 28, name: 'IPv6', bits: 128, text: ipv6Text })

function addressRecord(family: Family): RecordType {
  return {
    name: family.queryType,
    queryType: family.queryType,
    code: family.code,
    parts: 'address',
    suggestedFor: ['apex', 'host'],
    read: (rdata) => family.text(rdata.octets(family.bits / 8)),
    parseExpected: (text, isExactMatch) => parseExpected(family, text.trim(), isExactMatch),
    observe: observeAll,
    difference: (expected, observed, isExactMatch) => compareBy(ADDRESSES, expected, observed, isExactMatch),
    fromZoneFile: (data) => (data.length === 1 ? data[0]!.raw : undefined),
    toZoneFile: (value) => (value.includes('/') ? undefined : value),
  }
}

type Address = ipaddr.IPv4 | ipaddr.IPv6

const ADDRESSES: Comparison<string | [Address, number], string> = {
  expected: (text) => (text.includes('/') ? familyOf(text).parseCIDR(text) : text),
  observed: (text) => text,
  matches: (expected, observed) =>
    typeof expected === 'string' ? expected === observed : isInBlock(observed, expected),
}

function parseExpected(family: Family, text: string, isExactMatch: boolean): ParsedValue {
  const [ip = '', prefix, ...more] = text.split('/')
  const address = canonicalAddress(ip)
  if (address === undefined || more.length > 0 || address.includes(':') !== (family.name === 'IPv6')) {
    return refused(fieldError(family.name === 'IPv4' ? 'invalid_ipv4' : 'invalid_ipv6', { value: text }))
  }
  if (prefix === undefined) return { ok: true, value: address }
  if (isExactMatch) return refused(fieldError('block_in_exact_mode', { value: text }))
  return parseBlock(family, address, prefix)
}

function parseBlock(family: Family, address: string, prefix: string): ParsedValue {
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > family.bits) {
    return refused(fieldError('invalid_prefix', { prefix: prefix.slice(0, 20), max: family.bits }))
  }
  const length = Number(prefix)
  const network = networkAddress(address, length)
  // The bits are not cleared, because the request may mean the address alone.
  if (network !== address) {
    return refused(fieldError('bits_beyond_prefix', { address, prefix: length, first: network }))
  }
  return { ok: true, value: `${network}/${length}` }
}

function networkAddress(address: string, length: number): string {
  const network = familyOf(address).networkAddressFromCIDR(`${address}/${length}`).toString()
  return canonicalAddress(network) ?? network
}

function isInBlock(text: string, [network, length]: [Address, number]): boolean {
  const address = familyOf(text).parse(text)
  return address.kind() === network.kind() && address.match(network, length)
}

function familyOf(text: string): typeof ipaddr.IPv4 | typeof ipaddr.IPv6 {
  return text.includes(':') ? ipaddr.IPv6 : ipaddr.IPv4
}
