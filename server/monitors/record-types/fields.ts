import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { canonicalAddress } from '../../dns/addresses.ts'
import { endsInNumber, parseDomainName } from '../../dns/names.ts'
import type { RdataReader } from '../../dns/rdata.ts'
import { type Comparison, compareBy, compareTexts, observeAll } from './compare.ts'
import {
  absoluteHost,
  quotedOctets,
  type Token,
  tokensOf,
  unescaped,
  withOctets,
  writtenToken,
} from './presentation.ts'
import { type ParsedValue, type RecordType, refused } from './record-type.ts'

/** One field of a record made of several. `parse` is given what is written for it, as one token. */
export type Field = {
  read(rdata: RdataReader): string
  parse(token: Token): ParsedValue
  isName?: true
  /** It is the last one, and may be written with spaces. */
  isRest?: true
}

/** In flexible mode it matches any value of a field. */
const ANY = '*'

type FieldRecord = Pick<RecordType, 'code' | 'queryType' | 'parts' | 'likelyAt'> & {
  fields: readonly Field[]
  /** Why fields that are right by themselves do not fit together; those that are left open are undefined. */
  misfit?(values: readonly (string | undefined)[]): FieldError | undefined
  isPriorityFirst?: true
}

/** A record of several fields, written with spaces between them. Flexible: a field that is written `*` may hold anything. */
export function fieldRecord(own: FieldRecord): RecordType {
  const { code, queryType, parts, likelyAt, fields, isPriorityFirst } = own
  return {
    code,
    name: queryType,
    queryType,
    parts,
    likelyAt,
    read: (rdata) => fields.map((field) => field.read(rdata)).join(' '),
    parseExpected: (text, isExactMatch) => parseFields(own, text, isExactMatch),
    observe: observeAll,
    difference: (expected, observed, isExactMatch) =>
      isExactMatch ? compareTexts(expected, observed, true) : compareBy(FIELDS, expected, observed, false),
    fromZoneFile: (data, wholeName) => {
      if (!isOfLength(data, fields)) return undefined
      return data.map((token, at) => (fields[at]?.isName ? wholeName(token.raw) : writtenToken(token))).join(' ')
    },
    toZoneFile: (value) => {
      const data = fieldsOf(value)
      if (data.includes(ANY)) return undefined
      return data.map((field, at) => (fields[at]?.isName ? absoluteHost(field) : field)).join(' ')
    },
    ...(isPriorityFirst && { lacksPriority: (value) => value.trim().split(/\s+/).length < fields.length }),
  }
}

const FIELDS: Comparison<string[], string[]> = {
  expected: fieldsOf,
  observed: fieldsOf,
  meets: (wanted, found) => wanted.every((field, at) => field === ANY || field === found[at]),
}

/** Of a value in canonical text. */
export function fieldsOf(value: string): string[] {
  return tokensOf(value)?.map(writtenToken) ?? []
}

function parseFields(own: FieldRecord, text: string, isExactMatch: boolean): ParsedValue {
  const { fields, queryType, parts, misfit } = own
  const data = tokensOf(text)
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
  for (const [at, field] of fields.entries()) {
    const token = field.isRest
      ? {
          ...data[at]!,
          raw: data
            .slice(at)
            .map(({ raw }) => raw)
            .join(''),
        }
      : data[at]!
    const parsed = parseField(field, token, isExactMatch)
    if (!parsed.ok) return parsed
    values.push(parsed.value)
  }
  const reason = misfit?.(values.map((value) => (value === ANY ? undefined : value)))
  return reason === undefined ? { ok: true, value: values.join(' ') } : refused(reason)
}

export function parseField(field: Field, token: Token, isExactMatch: boolean): ParsedValue {
  if (token.raw !== ANY || token.isQuoted) return field.parse(token)
  if (!isExactMatch) return { ok: true, value: ANY }
  return refused(fieldError('wildcard_in_exact_mode'))
}

function isOfLength(data: readonly Token[], fields: readonly Field[]): boolean {
  return fields.at(-1)?.isRest ? data.length >= fields.length : data.length === fields.length
}

type Reads = { [bits in 8 | 16 | 32]: (rdata: RdataReader) => number }
const READS: Reads = { 8: (rdata) => rdata.uint8(), 16: (rdata) => rdata.uint16(), 32: (rdata) => rdata.uint32() }

/** `mnemonics`: other ways to write some of the numbers, in upper case. */
export function numberField(label: string, bits: keyof Reads, mnemonics: Readonly<Record<string, number>> = {}): Field {
  const most = 2 ** bits - 1
  return {
    read: (rdata) => String(READS[bits](rdata)),
    parse: ({ raw }) => {
      const named = Object.hasOwn(mnemonics, raw.toUpperCase()) ? mnemonics[raw.toUpperCase()] : undefined
      const value = named ?? (/^\d{1,10}$/.test(raw) ? Number(raw) : Number.NaN)
      if (value <= most) return { ok: true, value: String(value) }
      return refused(fieldError('invalid_number', { part: label, value: raw, max: most }))
    },
  }
}

/** Seconds, which zone files also write as `1h30m`. */
export function durationField(label: string): Field {
  const seconds = numberField(label, 32)
  return {
    ...seconds,
    parse: (token) => {
      const units = /^(?:\d{1,10}[smhdw])+$/i.test(token.raw) ? token.raw.match(/\d{1,10}[a-z]/gi)! : undefined
      if (!units) return seconds.parse(token)
      const sum = units.reduce((all, each) => all + Number.parseInt(each, 10) * UNITS[each.at(-1)!.toLowerCase()]!, 0)
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
    // Stored, it would be taken for a field that is left open.
    return host.ok && host.value === ANY ? refused(fieldError('not_a_host_name', { value: raw })) : host
  },
  isName: true,
}

/** A text of at most 255 octets, always in quotes. `isUpperCase`: the case of its letters does not matter. */
export function stringField(label: string, { isUpperCase = false } = {}): Field {
  const written = (octets: Buffer) => (isUpperCase ? quotedOctets(octets).toUpperCase() : quotedOctets(octets))
  return {
    read: (rdata) => written(rdata.characterString()),
    parse: ({ raw }) => {
      const octets = unescaped(raw)
      if (octets.length <= 255) return { ok: true, value: written(octets) }
      return refused(fieldError('string_too_long', { part: label, length: octets.length }))
    },
  }
}

/** Octets up to the end, in hexadecimal; spaces may stand between the digits. */
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

/** Why a digest does not have as many octets as its kind; undefined for a kind that is not known, and for what is left open. */
export function digestMisfit(
  label: string,
  kind: string | undefined,
  digest: string | undefined,
  octets: Readonly<Record<string, number>>,
): FieldError | undefined {
  const required = kind === undefined ? undefined : octets[kind]
  if (required === undefined || digest === undefined || digest.length === 2 * required) return undefined
  return fieldError('wrong_digest_length', { part: label, length: digest.length / 2, type: kind ?? '', required })
}

/** NS, PTR and CNAME: a host name. */
export function hostRecord(
  own: Pick<RecordType, 'code' | 'likelyAt'> & { queryType: 'NS' | 'PTR' | 'CNAME' },
): RecordType {
  return {
    ...own,
    name: own.queryType,
    parts: 'host',
    read: (rdata) => rdata.name(),
    parseExpected: parseHost,
    observe: observeAll,
    difference: compareTexts,
    fromZoneFile: (data, wholeName) => (data.length === 1 ? wholeName(data[0]!.raw) : undefined),
    toZoneFile: absoluteHost,
  }
}

/** A host name in canonical form; an address in its place is the most common mistake and never works. RFC 2181 section 10.3. */
export function parseHost(text: string): ParsedValue {
  const written = text.trim()
  if (canonicalAddress(written)) {
    return refused(fieldError('address_as_host', { value: written }))
  }
  if (written === '.') return refused(fieldError('not_a_host_name', { value: written }))
  const parsed = parseDomainName(withOctets(written))
  if (parsed.ok && endsInNumber(parsed.name)) {
    return refused(fieldError('host_ends_in_number', { value: written }))
  }
  return parsed.ok ? { ok: true, value: parsed.name } : parsed
}

/** Where a record may also say that there is no host, by a single dot. */
export function parseHostOrRoot(text: string): ParsedValue {
  return text === '.' ? { ok: true, value: '.' } : parseHost(text)
}
