import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { type MonitorRecordType, RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { type RdataFormat, type RdataFormats, rdataText } from '../../dns/rdata.ts'
import { MalformedPacket } from '../../dns/wire.ts'
import { a } from './a.ts'
import { aaaa } from './aaaa.ts'
import { caa } from './caa.ts'
import { cname } from './cname.ts'
import { ds } from './ds.ts'
import { mx } from './mx.ts'
import { naptr } from './naptr.ts'
import { ns } from './ns.ts'
import { type Token, tokensOf } from './presentation.ts'
import { ptr } from './ptr.ts'
import { type MonitoredType, type ParsedValue, type RecordType, refused } from './record-type.ts'
import { soa } from './soa.ts'
import { spf } from './spf.ts'
import { srv } from './srv.ts'
import { sshfp } from './sshfp.ts'
import { https, svcb } from './svcb.ts'
import { tlsa } from './tlsa.ts'
import { txt } from './txt.ts'

type Zoned = Exclude<MonitorRecordType, 'SPF'>

/** The types that zones hold. */
const ZONED: { readonly [T in Zoned]: RecordType } = {
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

const MONITORED: { readonly [T in MonitorRecordType]: MonitoredType } = { ...ZONED, SPF: spf }

/** For the DNS client. */
export const RDATA_FORMATS: RdataFormats = ZONED

export function recordTypeOf(type: MonitorRecordType): MonitoredType {
  return MONITORED[type]
}

/** What a zone file calls a type: its name, or TYPE and its number (RFC 3597 section 5). Undefined for one that is not monitored. */
export function findZonedType(name: string): { type: Zoned; recordType: RecordType } | undefined {
  return zoned.get(name)
}

const zoned: ReadonlyMap<string, { type: Zoned; recordType: RecordType }> = new Map(
  (Object.keys(ZONED) as Zoned[]).flatMap((type) => {
    const found = { type, recordType: ZONED[type] }
    return [[type as string, found] as const, [`TYPE${ZONED[type].code}`, found] as const]
  }),
)

// Expected values as people write them

/** The path of the value at fault (`expected_value` or `expected_value.<i>`) → what is wrong. */
export type ExpectedValueProblems = Record<string, FieldError>
export type ParsedExpectedValues = { ok: true; values: string[] } | { ok: false; problems: ExpectedValueProblems }

export const MAX_EXPECTED_VALUES = 10
/** In characters, each. */
export const MAX_EXPECTED_VALUE = 1000

/**
 * Checks and normalises 1 to 10 expected values; a bare string is a list of one, duplicates are folded.
 * Stored values must pass again when the type or the mode changes: exact mode refuses a block of addresses.
 */
export function parseExpectedValues(
  given: string | readonly string[],
  recordType: MonitorRecordType,
  isExactMatch: boolean,
): ParsedExpectedValues {
  const texts = typeof given === 'string' ? [given] : given
  if (texts.length < 1 || texts.length > MAX_EXPECTED_VALUES) {
    const reason = fieldError('wrong_number_of_values', { max: MAX_EXPECTED_VALUES, count: texts.length })
    return { ok: false, problems: { expected_value: reason } }
  }
  const problems: ExpectedValueProblems = {}
  const values = new Set<string>()
  for (const [index, text] of texts.entries()) {
    const parsed = parseOne(text, recordType, isExactMatch)
    if (parsed.ok) values.add(parsed.value)
    else problems[typeof given === 'string' ? 'expected_value' : `expected_value.${index}`] = parsed.reason
  }
  if (values.size > 1 && isExactMatch && RECORD_TYPE_TEXTS[recordType].isSingle) {
    problems.expected_value = fieldError('single_value_only', { record_type: recordType })
  }
  return Object.keys(problems).length > 0 ? { ok: false, problems } : { ok: true, values: [...values] }
}

/** What a new monitor would expect of the records that are there now. */
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
  if (isOverlong(text)) return overlong(text)
  const parsed = recordTypeOf(recordType).parseExpected(readable(text, recordType), isExactMatch)
  // Escapes can make a value longer than what was written.
  return parsed.ok && isOverlong(parsed.value) ? overlong(parsed.value) : parsed
}

/** Data in the form for any type as the value that it stands for; a text may be anything. */
function readable(text: string, type: MonitorRecordType): string {
  const found = RECORD_TYPE_TEXTS[type].isText ? undefined : findZonedType(type)
  const data = found && text.trimStart().startsWith('\\#') ? tokensOf(text) : undefined
  return (found && data && isGenericForm(data) && readGenericForm(found.recordType, data)) || text
}

function isOverlong(text: string): boolean {
  if (text.length <= MAX_EXPECTED_VALUE || text.length > 2 * MAX_EXPECTED_VALUE) return text.length > MAX_EXPECTED_VALUE
  return Array.from(text).length > MAX_EXPECTED_VALUE
}

function overlong(text: string): ParsedValue {
  return refused(fieldError('value_too_long', { value: text, max: MAX_EXPECTED_VALUE }))
}

/** Whether the data is in the form for any type, `\# 4 c0000201`: its octets in hexadecimal, their number before them. */
export function isGenericForm(data: readonly Token[]): boolean {
  return data[0]?.raw === '\\#' && !data[0].isQuoted
}

/** The canonical text of data in that form; undefined where it is not that of the type. RFC 3597 section 5. */
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
