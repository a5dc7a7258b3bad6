import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { canonicalAddress } from '../dns/ip-addresses.ts'
import { endsInNumber, parseDomainName } from '../dns/names.ts'
import type { RdataReader } from '../dns/rdata.ts'
import { type Comparison, compareBy, compareTexts, observeAll } from './compare.ts'
import {
  absoluteHost,
  escapeAsOctets,
  formatToken,
  quoteOctets,
  type Token,
  tokenize,
  unescapeOctets,
} from './presentation.ts'
import { type ParsedValue, type RecordType, refused } from './record-type.ts'

/** One field of a record with several fields. */
export type Field = {
  read(rdata: RdataReader): string
  parse(token: Token): ParsedValue
  isName?: true
  /** The last field, which may contain spaces. */
  isRest?: true
}

/** Matches any value of a field in flexible mode. */
const WILDCARD = '*'

type FieldRecordType = Pick<RecordType, 'code' | 'queryType' | 'parts' | 'suggestedFor'> & {
  fields: readonly Field[]
  /** The error of fields that are valid alone but not together. Wildcards are undefined. */
  validate?(values: readonly (string | undefined)[]): FieldError | undefined
  isPriorityFirst?: true
}

/** A record with several fields, separated by spaces. In flexible mode `*` matches any value of a field. */
export function fieldRecord(definition: FieldRecordType): RecordType {
  const { code, queryType, parts, suggestedFor, fields, isPriorityFirst } = definition
  return {
    code,
    name: queryType,
    queryType,
    parts,
    suggestedFor,
    read: (rdata) => fields.map((field) => field.read(rdata)).join(' '),
    parseExpected: (text, isExactMatch) => parseFields(definition, text, isExactMatch),
    observe: observeAll,
    difference: (expected, observed, isExactMatch) =>
      isExactMatch ? compareTexts(expected, observed, true) : compareBy(FIELDS, expected, observed, false),
    fromZoneFile: (data, wholeName) => {
      if (!isOfLength(data, fields)) return undefined
      return data.map((token, index) => (fields[index]?.isName ? wholeName(token.raw) : formatToken(token))).join(' ')
    },
    toZoneFile: (value) => {
      const data = fieldsOf(value)
      if (data.includes(WILDCARD)) return undefined
      return data.map((field, index) => (fields[index]?.isName ? absoluteHost(field) : field)).join(' ')
    },
    ...(isPriorityFirst && { lacksPriority: (value) => value.trim().split(/\s+/).length < fields.length }),
  }
}

const FIELDS: Comparison<string[], string[]> = {
  expected: fieldsOf,
  observed: fieldsOf,
  matches: (expected, observed) => expected.every((field, index) => field === WILDCARD || field === observed[index]),
}

/** The fields of a value in canonical form. */
export function fieldsOf(value: string): string[] {
  return tokenize(value)?.map(formatToken) ?? []
}

function parseFields(definition: FieldRecordType, text: string, isExactMatch: boolean): ParsedValue {
  const { fields, queryType, parts, validate } = definition
  const data = tokenize(withoutComments(text))
  if (!data || !isOfLength(data, fields)) {
    return refused(
      fieldError('invalid_record', {
        value: text,
        record_type: queryType,
        format: parts,
        example: RECORD_TYPE_TEXTS[queryType].example,
      }),
    )
  }
  const values: string[] = []
  for (const [index, field] of fields.entries()) {
    const token = data[index]!
    const rest = data.slice(index).map(({ raw }) => raw)
    const parsed = parseField(field, field.isRest ? { ...token, raw: rest.join('') } : token, isExactMatch)
    if (!parsed.ok) return parsed
    values.push(parsed.value)
  }
  const reason = validate?.(values.map((value) => (value === WILDCARD ? undefined : value)))
  return reason === undefined ? { ok: true, value: values.join(' ') } : refused(reason)
}

/** Of a record that was copied from a zone file with several lines. The last line may have a comment only beside others. */
function withoutComments(text: string): string {
  return text.includes('\n') ? text.replace(/("(?:[^"\\]|\\.)*"?)|;[^\n]*/gs, (_, string) => string ?? '') : text
}

export function parseField(field: Field, token: Token, isExactMatch: boolean): ParsedValue {
  if (token.raw !== WILDCARD || token.isQuoted) return field.parse(token)
  if (!isExactMatch) return { ok: true, value: WILDCARD }
  return refused(fieldError('wildcard_in_exact_mode'))
}

function isOfLength(data: readonly Token[], fields: readonly Field[]): boolean {
  return fields.at(-1)?.isRest ? data.length >= fields.length : data.length === fields.length
}

type Reads = { [bits in 8 | 16 | 32]: (rdata: RdataReader) => number }
const READS: Reads = { 8: (rdata) => rdata.uint8(), 16: (rdata) => rdata.uint16(), 32: (rdata) => rdata.uint32() }

/** `mnemonics`: the names of some numbers, in upper case. */
export function numberField(label: string, bits: keyof Reads, mnemonics: Readonly<Record<string, number>> = {}): Field {
  const max = 2 ** bits - 1
  return {
    read: (rdata) => String(READS[bits](rdata)),
    parse: ({ raw }) => {
      const named = Object.hasOwn(mnemonics, raw.toUpperCase()) ? mnemonics[raw.toUpperCase()] : undefined
      const value = named ?? (/^\d{1,10}$/.test(raw) ? Number(raw) : Number.NaN)
      if (value <= max) return { ok: true, value: String(value) }
      return refused(fieldError('invalid_number', { part: label, value: raw, max }))
    },
  }
}

/** Seconds, or a duration like `1h30m` of zone files. */
export function durationField(label: string): Field {
  const seconds = numberField(label, 32)
  return {
    ...seconds,
    parse: (token) => {
      const units = /^(?:\d{1,10}[smhdw])+$/i.test(token.raw) ? token.raw.match(/\d{1,10}[a-z]/gi)! : undefined
      if (!units) return seconds.parse(token)
      const sum = units.reduce((sum, part) => sum + Number.parseInt(part, 10) * UNITS[part.at(-1)!.toLowerCase()]!, 0)
      return seconds.parse({ ...token, raw: String(sum) })
    },
  }
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }

/** A host, or the root for none. */
export const hostField: Field = {
  read: (rdata) => rdata.name(),
  parse: ({ raw }) => {
    const host = parseHostOrRoot(raw)
    // A stored * is a wildcard.
    return host.ok && host.value === WILDCARD ? refused(fieldError('not_a_host_name', { value: raw })) : host
  },
  isName: true,
}

/** A quoted text of at most 255 octets. `isUpperCase`: letter case does not matter. */
export function stringField(label: string, { isUpperCase = false } = {}): Field {
  const format = (octets: Buffer) => (isUpperCase ? quoteOctets(octets).toUpperCase() : quoteOctets(octets))
  return {
    read: (rdata) => format(rdata.characterString()),
    parse: ({ raw }) => {
      const octets = unescapeOctets(raw)
      if (octets.length <= 255) return { ok: true, value: format(octets) }
      return refused(fieldError('string_too_long', { part: label, length: octets.length }))
    },
  }
}

/** The remaining octets in hexadecimal. Spaces between the digits are ignored. */
export function hexField(label: string): Field {
  return {
    read: (rdata) => {
      const octets = rdata.remaining()
      if (octets.length === 0) throw rdata.malformed('a record ends before its last field')
      return octets.toString('hex')
    },
    parse: ({ raw }) => {
      if (/^(?:[0-9a-f]{2})+$/i.test(raw)) return { ok: true, value: raw.toLowerCase() }
      return refused(fieldError('invalid_hexadecimal', { part: label, value: raw }))
    },
    isRest: true,
  }
}

/** The error of a digest whose length does not suit its type. Undefined for an unknown type and for wildcards. */
export function digestLengthError(
  label: string,
  type: string | undefined,
  digest: string | undefined,
  lengths: Readonly<Record<string, number>>,
): FieldError | undefined {
  const required = type === undefined ? undefined : lengths[type]
  if (required === undefined || digest === undefined || digest.length === 2 * required) return undefined
  return fieldError('wrong_digest_length', { part: label, length: digest.length / 2, type: type!, required })
}

/** A host name in canonical form. Refuses an IP address, the most common mistake. RFC 2181 section 10.3. */
export function parseHost(text: string): ParsedValue {
  const trimmed = text.trim()
  if (canonicalAddress(trimmed)) return refused(fieldError('address_as_host', { value: trimmed }))
  if (trimmed === '.') return refused(fieldError('not_a_host_name', { value: trimmed }))
  const parsed = parseDomainName(escapeAsOctets(trimmed))
  if (!parsed.ok) return parsed
  // RFC 4592 section 2.1.1: a wildcard is an owner name. As a target it is an ordinary name, which nobody means.
  if (parsed.name.startsWith('*.')) return refused(fieldError('wildcard_as_host', { value: trimmed }))
  if (endsInNumber(parsed.name)) return refused(fieldError('host_ends_in_number', { value: trimmed }))
  return { ok: true, value: parsed.name }
}

/** For records in which a single dot means that there is no host. */
export function parseHostOrRoot(text: string): ParsedValue {
  return text === '.' ? { ok: true, value: '.' } : parseHost(text)
}
