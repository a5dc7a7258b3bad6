import { fieldError } from '#contract/field-errors.ts'
import { OCTET_TEXT, parseDomainName } from '../dns/names.ts'
import type { RdataReader } from '../dns/rdata.ts'
import { type Comparison, compareBy, observeAll } from './compare.ts'
import { quoteOctets, straightenQuotes, unescapeOctets } from './presentation.ts'
import { type ParsedValue, type RecordType, refused } from './record-type.ts'

/** `flags`: undefined if the expected value has none. `value`: one character per octet. RFC 8659 section 4.1. */
type Property = { flags: number | undefined; tag: string; value: string }

/** `flags tag "value"` or `tag value`. Without flags, 0 is expected in exact mode and any in flexible mode. */
export const caa: RecordType = {
  name: 'CAA',
  queryType: 'CAA',
  code: 257,
  parts: 'flags tag value',
  suggestedFor: ['apex', 'host'],
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
  expected: parseComparable,
  observed: parseComparable,
  matches: (expected, observed) =>
    expected !== undefined &&
    expected.tag === observed?.tag &&
    expected.value === observed.value &&
    (expected.flags === undefined || expected.flags === observed.flags),
}

const EXACT: Comparison<Property | undefined, Property | undefined> = {
  ...FLEXIBLE,
  expected: (text) => {
    const property = parseComparable(text)
    return property && { ...property, flags: property.flags ?? 0 }
  },
}

/** RFC 8659 section 4.1: one octet holds the length. */
const MAX_TAG_LENGTH = 255

// RFC 8659 section 4.1.1. Letter case matters in the value, not in the tag. A property with another tag matches no expected value.
function read(rdata: RdataReader): string {
  const flags = rdata.uint8()
  const tag = Array.from(rdata.characterString(), (octet) => OCTET_TEXT[octet]).join('')
  return `${flags} ${tag || '""'} ${quoteOctets(rdata.remaining())}`
}

function parseExpected(text: string): ParsedValue {
  const property = parseProperty(text)
  if (property === undefined) {
    return refused(fieldError('invalid_caa', { value: text }))
  }
  const { flags, tag, value } = property
  if (tag.length > MAX_TAG_LENGTH) return refused(fieldError('caa_tag_too_long', { value: text, max: MAX_TAG_LENGTH }))
  if (flags !== undefined && flags > 255) return refused(fieldError('invalid_caa_flags', { value: text }))
  const tagAndValue = `${tag} ${formatValue(tag, value)}`
  return { ok: true, value: flags === undefined ? tagAndValue : `${flags} ${tagAndValue}` }
}

function parseComparable(text: string): Property | undefined {
  const property = parseProperty(text)
  return property && { ...property, value: comparableValue(property.tag, property.value) }
}

function parseProperty(text: string): Property | undefined {
  const [, flags, tag = '', rest = ''] = text.trim().match(/^(?:(\d+)\s+)?([a-z0-9]+)\s+(\S.*)$/is) ?? []
  // `0 issue` lacks a value; 0 is not a tag.
  if (tag === '' || /^\d+$/.test(tag)) return undefined
  const quotedValue = straightenQuotes(rest).match(/^"((?:[^"\\]|\\.)*)"$/s)?.[1]
  if (quotedValue === undefined && /["\u201c-\u201f]/.test(rest)) return undefined
  const value = unescapeOctets(quotedValue ?? rest).toString('latin1')
  return { flags: flags === undefined ? undefined : Number(flags), tag: tag.toLowerCase(), value }
}

/** An issuer and its parameters. RFC 8659 section 4.2; RFC 9495 for mail. */
const ISSUER_TAGS = new Set(['issue', 'issuewild', 'issuemail', 'issuevmc'])

/** The value in its stored form. */
function formatValue(tag: string, value: string): string {
  return quoteOctets(Buffer.from(ISSUER_TAGS.has(tag) ? issuerText(value) : value, 'latin1'))
}

/** The same for equivalent values: letter case of the issuer, spaces and the order of the parameters do not matter. */
function comparableValue(tag: string, value: string): string {
  if (!ISSUER_TAGS.has(tag)) return value
  const { issuer, parameters } = parseIssuer(value)
  return [issuer, ...parameters.sort()].join(';')
}

function issuerText(value: string): string {
  const { issuer, parameters } = parseIssuer(value)
  // No issuer forbids all issuers, and is usually written as a semicolon.
  return issuer === '' && parameters.length === 0 ? ';' : [issuer, ...parameters].join('; ')
}

function parseIssuer(value: string): { issuer: string; parameters: string[] } {
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
