import { fieldError } from '#contract/field-errors.ts'
import { type MonitorRecordType, RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { type RdataFormat, type RdataFormats, rdataText } from '../dns/rdata.ts'
import { MalformedPacket } from '../dns/wire.ts'
import type { FieldErrors } from '../problem.ts'
import { a, aaaa } from './a-aaaa.ts'
import { caa } from './caa.ts'
import { ds } from './ds.ts'
import { cname, ns, ptr } from './hosts.ts'
import { mx } from './mx.ts'
import { naptr } from './naptr.ts'
import { type Token, tokenize } from './presentation.ts'
import { type MonitoredType, type ParsedValue, type RecordType, refused } from './record-type.ts'
import { soa } from './soa.ts'
import { spf } from './spf.ts'
import { srv } from './srv.ts'
import { sshfp } from './sshfp.ts'
import { https, svcb } from './svcb.ts'
import { tlsa } from './tlsa.ts'
import { txt } from './txt.ts'

type ZoneType = Exclude<MonitorRecordType, 'SPF'>

/** The types that zone files have. */
const ZONE_TYPES: { readonly [T in ZoneType]: RecordType } = {
  A: a,
  AAAA: aaaa,
  CNAME: cname,
  MX: mx,
  TXT: txt,
  NS: ns,
  PTR: ptr,
  CAA: caa,
  SRV: srv,
  TLSA: tlsa,
  SSHFP: sshfp,
  HTTPS: https,
  SVCB: svcb,
  DS: ds,
  SOA: soa,
  NAPTR: naptr,
}

const MONITORED_TYPES: { readonly [T in MonitorRecordType]: MonitoredType } = { ...ZONE_TYPES, SPF: spf }

/** For the DNS client. */
export const RDATA_FORMATS: RdataFormats = ZONE_TYPES

export function recordTypeOf(type: MonitorRecordType): MonitoredType {
  return MONITORED_TYPES[type]
}

/** By its name in a zone file, or TYPE and its number (RFC 3597 section 5). Undefined for a type that cannot be monitored. */
export function findZoneType(name: string): { type: ZoneType; recordType: RecordType } | undefined {
  return zoneTypesByName.get(name)
}

const zoneTypesByName = new Map<string, { type: ZoneType; recordType: RecordType }>(
  (Object.keys(ZONE_TYPES) as ZoneType[]).flatMap((type) => {
    const zoneType = { type, recordType: ZONE_TYPES[type] }
    return [
      [type, zoneType],
      [`TYPE${zoneType.recordType.code}`, zoneType],
    ]
  }),
)

/** `errors`: at `expected_value` or `expected_value.<i>`. */
export type ParsedExpectedValues = { ok: true; values: string[] } | { ok: false; errors: FieldErrors }

export const MAX_EXPECTED_VALUES = 10
/** Characters of one value. */
export const MAX_EXPECTED_VALUE_LENGTH = 1000

/**
 * Validates and normalizes 1 to 10 expected values, and removes duplicates. A string is a list of one. If the type or the mode of a
 * monitor changes, its stored values are parsed again: exact mode refuses a block of addresses.
 */
export function parseExpectedValues(
  input: string | readonly string[],
  recordType: MonitorRecordType,
  isExactMatch: boolean,
): ParsedExpectedValues {
  const texts = typeof input === 'string' ? [input] : input
  if (texts.length < 1 || texts.length > MAX_EXPECTED_VALUES) {
    const reason = fieldError('wrong_number_of_values', { max: MAX_EXPECTED_VALUES, count: texts.length })
    return { ok: false, errors: { expected_value: reason } }
  }
  const errors: FieldErrors = {}
  const values = new Set<string>()
  for (const [index, text] of texts.entries()) {
    const parsed = parseOne(text, recordType, isExactMatch)
    if (parsed.ok) values.add(parsed.value)
    else errors[typeof input === 'string' ? 'expected_value' : `expected_value.${index}`] = parsed.reason
  }
  if (values.size > 1 && isExactMatch && RECORD_TYPE_TEXTS[recordType].isSingle) {
    errors.expected_value = fieldError('single_value_only', { record_type: recordType })
  }
  return Object.keys(errors).length > 0 ? { ok: false, errors } : { ok: true, values: [...values] }
}

/** The expectation of a new monitor for the existing records. */
export function expectationOf(
  type: MonitorRecordType,
  observed: readonly string[],
): { values: string[]; isExact: boolean } {
  const { isExactByDefault, asExpected } = recordTypeOf(type)
  const isExact = observed.length <= MAX_EXPECTED_VALUES && (isExactByDefault?.(observed) ?? true)
  const values = observed.slice(0, MAX_EXPECTED_VALUES)
  return { values: asExpected ? values.map((value) => asExpected(value, isExact)) : values, isExact }
}

function parseOne(text: string, recordType: MonitorRecordType, isExactMatch: boolean): ParsedValue {
  if (isTooLong(text)) return tooLong(text)
  const parse = (value: string) =>
    recordTypeOf(recordType).parseExpected(resolveGenericForm(value, recordType), isExactMatch)
  const refusedOrParsed = parse(text)
  const mayBeLine = !refusedOrParsed.ok && !RECORD_TYPE_TEXTS[recordType].isText
  const data = mayBeLine ? dataOfRecordLine(text, recordType) : undefined
  const ofLine = data === undefined ? undefined : parse(data)
  const parsed = ofLine?.ok ? ofLine : refusedOrParsed
  // Escapes can make the stored value longer than the input.
  return parsed.ok && isTooLong(parsed.value) ? tooLong(parsed.value) : parsed
}

// The owner name, TTL and class before the type, and the data after it. RFC 1035 section 5.1.
const RECORD_LINE = /^\s*(?:[^\s"();]+\s+)?(?:\d+\s+)?(?:IN\s+)?(?:\d+\s+)?([A-Z]+)\s+(\S.*)$/is

/** The data of a line of a zone file. Undefined for other text, and for a record of another type. */
function dataOfRecordLine(line: string, recordType: MonitorRecordType): string | undefined {
  const [, type, data] = RECORD_LINE.exec(line) ?? []
  return type?.toUpperCase() === recordType ? data : undefined
}

/** The value of data in the generic form. Other input is returned unchanged. */
function resolveGenericForm(text: string, type: MonitorRecordType): string {
  const zoneType = RECORD_TYPE_TEXTS[type].isText ? undefined : findZoneType(type)
  const data = zoneType && text.trimStart().startsWith('\\#') ? tokenize(text) : undefined
  return (zoneType && data && isGenericForm(data) && readGenericForm(zoneType.recordType, data)) || text
}

function isTooLong(text: string): boolean {
  if (text.length <= MAX_EXPECTED_VALUE_LENGTH || text.length > 2 * MAX_EXPECTED_VALUE_LENGTH)
    return text.length > MAX_EXPECTED_VALUE_LENGTH
  return Array.from(text).length > MAX_EXPECTED_VALUE_LENGTH
}

function tooLong(text: string): ParsedValue {
  return refused(fieldError('value_too_long', { value: text, max: MAX_EXPECTED_VALUE_LENGTH }))
}

/** The generic form of every type: `\# 4 c0000201`, the number of octets and the octets in hexadecimal. RFC 3597 section 5. */
export function isGenericForm(data: readonly Token[]): boolean {
  return data[0]?.raw === '\\#' && !data[0].isQuoted
}

/** The canonical text of data in the generic form; undefined if it is not rdata of the type. */
export function readGenericForm(format: RdataFormat, [, length, ...digits]: readonly Token[]): string | undefined {
  const written = digits.map(({ raw }) => raw).join('')
  const octets = Buffer.from(written, 'hex')
  if (!/^\d+$/.test(length?.raw ?? '') || octets.length !== Number(length?.raw)) return undefined
  if (written.length !== 2 * octets.length) return undefined
  try {
    return rdataText(format, { octets, tails: new Map() }, 0, octets.length)
  } catch (error) {
    if (error instanceof MalformedPacket) return undefined
    throw error
  }
}
