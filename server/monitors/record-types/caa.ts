import { fieldError } from '#contract/field-errors.ts'
import { parseDomainName } from '../../dns/names.ts'
import type { RdataReader } from '../../dns/rdata.ts'
import { type Comparison, compareBy, observeAll } from './compare.ts'
import { quotedOctets, unescaped } from './presentation.ts'
import { type ParsedValue, type RecordType, refused } from './record-type.ts'

/** `flags` is undefined where an expectation leaves them out, `value` one character per octet. RFC 8659 section 4.1. */
type Property = { flags: number | undefined; tag: string; value: string }

/** `flags tag "value"` or `tag value`. Flags left out mean 0 in exact mode and any in flexible mode. */
export const caa: RecordType = {
  name: 'CAA',
  queryType: 'CAA',
  code: 257,
  parts: 'flags tag value',
  likelyAt: ['apex', 'host'],
  read,
  parseExpected,
  observe: observeAll,
  difference: (expected, observed, isExactMatch) =>
    compareBy(isExactMatch ? EXACT : FLEXIBLE, expected, observed, isExactMatch),
  fromZoneFile: ([flags, tag, value, more]) =>
    value === undefined || more !== undefined ? undefined : `${flags!.raw} ${tag!.raw} "${value.raw}"`,
  toZoneFile: (value) => (/^\d+ /.test(value) ? value : `0 ${value}`),
}

const FLEXIBLE: Comparison<Property | undefined, Property | undefined> = {
  expected: readComparable,
  observed: readComparable,
  meets: (wanted, found) =>
    wanted !== undefined &&
    wanted.tag === found?.tag &&
    wanted.value === found.value &&
    (wanted.flags === undefined || wanted.flags === found.flags),
}

const EXACT: Comparison<Property | undefined, Property | undefined> = {
  ...FLEXIBLE,
  expected: (text) => {
    const wanted = readComparable(text)
    return wanted && { ...wanted, flags: wanted.flags ?? 0 }
  },
}

/** Its length is one octet. RFC 8659 section 4.1. */
const MAX_TAG = 255

// RFC 8659 section 4.1.1. The tag is matched without letter case, the value is not.
function read(rdata: RdataReader): string {
  const flags = rdata.uint8()
  const tag = rdata.characterString().toString('latin1').toLowerCase()
  if (!/^[a-z0-9]+$/.test(tag)) throw rdata.malformed('a CAA tag is not made of letters and digits')
  return `${flags} ${tag} ${quotedOctets(rdata.remaining())}`
}

function parseExpected(text: string): ParsedValue {
  const property = readProperty(text)
  if (property === undefined) {
    return refused(fieldError('invalid_caa', { value: text }))
  }
  const { flags, tag, value } = property
  if (tag.length > MAX_TAG) return refused(fieldError('caa_tag_too_long', { value: text, max: MAX_TAG }))
  if (flags !== undefined && flags > 255) return refused(fieldError('invalid_caa_flags', { value: text }))
  const written = `${tag} ${writtenValue(tag, value)}`
  return { ok: true, value: flags === undefined ? written : `${flags} ${written}` }
}

function readComparable(text: string): Property | undefined {
  const property = readProperty(text)
  return property && { ...property, value: comparableValue(property.tag, property.value) }
}

function readProperty(text: string): Property | undefined {
  const [, flags, tag = '', rest = ''] = text.trim().match(/^(?:(\d+)\s+)?([a-z0-9]+)\s+(\S.*)$/is) ?? []
  // `0 issue` lacks its value; it is not a tag named 0.
  if (tag === '' || /^\d+$/.test(tag)) return undefined
  const inside = rest.match(/^"((?:[^"\\]|\\.)*)"$/s)?.[1]
  if (inside === undefined && rest.includes('"')) return undefined
  const value = unescaped(inside ?? rest).toString('latin1')
  return { flags: flags === undefined ? undefined : Number(flags), tag: tag.toLowerCase(), value }
}

/** An issuer and its parameters. RFC 8659 section 4.2; RFC 9495 for mail. */
const ISSUER_TAGS = new Set(['issue', 'issuewild', 'issuemail', 'issuevmc'])

/** The value as an expectation stores it, from one character per octet. */
function writtenValue(tag: string, value: string): string {
  return quotedOctets(Buffer.from(ISSUER_TAGS.has(tag) ? issuerText(value) : value, 'latin1'))
}

/** Equal for values that mean the same: an issuer's letter case, spaces and the order of its parameters do not matter. */
function comparableValue(tag: string, value: string): string {
  if (!ISSUER_TAGS.has(tag)) return value
  const { issuer, parameters } = readIssuer(value)
  return [issuer, ...parameters.sort()].join(';')
}

function issuerText(value: string): string {
  const { issuer, parameters } = readIssuer(value)
  // No issuer at all forbids everyone, and is usually written as a lone semicolon.
  return issuer === '' && parameters.length === 0 ? ';' : [issuer, ...parameters].join('; ')
}

function readIssuer(value: string): { issuer: string; parameters: string[] } {
  const [domain = '', ...rest] = value.split(';').map((part) => part.trim())
  const name = parseDomainName(Buffer.from(domain, 'latin1').toString('utf8'))
  const issuer = name.ok && name.name !== '' ? name.name : domain.toLowerCase()
  return { issuer, parameters: rest.filter((part) => part !== '').map(parameter) }
}

// RFC 8659 section 4.2 allows spaces around the equals sign.
function parameter(text: string): string {
  const [name = '', ...value] = text.split('=')
  return value.length === 0 ? name : `${name.trim()}=${value.join('=').trim()}`
}
