import { fieldError } from '#contract/field-errors.ts'
import type { ImportReason } from '#contract/import-codes.ts'
import { invalid } from '../../problem.ts'
import { escapeAsOctets, type Token } from '../../record-types/presentation.ts'
import type { RecordType } from '../../record-types/record-type.ts'
import { findZoneType, isGenericForm, readGenericForm } from '../../record-types/record-types.ts'
import { exportedName, type InputRow, isUnsupported, unsupportedReason } from './rows.ts'
import { type Entry, MAX_ENTRY_LENGTH, zoneEntries } from './zone-tokens.ts'

// The npm package dnsz silently drops invalid lines, has no line numbers, leaves names in the data relative to the origin and
// collapses spaces in quoted text. An import must not lose a record.

type Reading = {
  /** With a trailing dot; undefined until it is known. */
  origin: string | undefined
  owner: string | undefined
  needsOrigin: boolean
}

const CLASSES = new Set(['IN', 'CH', 'HS', 'CS', 'ANY', 'NONE'])
/** A mnemonic of a type, or the generic form of RFC 3597 section 5. */
const TYPE = /^[a-z][a-z0-9-]*$/i
/** In a comment of each record in Cloudflare's export. */
const CLOUDFLARE_PROXIED = /\bcf-proxied:true\b/
/** The age of a dynamic record in an export of Windows DNS. */
const AGE = /^\[AGE:\d+\]$/i
const TTL = /^(?:\d+(?:[smhdw]|$))+$/i

/**
 * The records of the file, in its order. `origin`: the zone's name, if the file has no $ORIGIN. Throws a 400 for relative names
 * without an origin.
 */
export async function* readZone(text: string, origin: string | undefined): AsyncGenerator<InputRow> {
  const reading: Reading = { origin: origin && absolute(origin), owner: undefined, needsOrigin: false }
  let isEmpty = true
  for await (const entry of zoneEntries(text)) {
    const record = readEntry(entry, reading)
    if (!record) continue
    isEmpty = false
    yield record
  }
  if (reading.needsOrigin) throw invalid({ origin: fieldError('origin_required') })
  if (isEmpty) throw invalid({ zone: fieldError('zone_empty') })
}

function readEntry(entry: Entry, reading: Reading): InputRow | undefined {
  const [first] = entry.tokens
  if (!first) return undefined
  if (!entry.isIndented && !first.isQuoted && first.raw.startsWith('$')) {
    return entry.error === undefined ? readDirective(entry, reading) : refused(entry, 'invalid_zone_file', entry.error)
  }
  const rest = [...entry.tokens]
  if (!entry.isIndented) {
    const owner = rest.shift()!
    // The owner name of the SOA record is the origin if there is no $ORIGIN. Cloudflare's export omits its final dot.
    if (reading.origin === undefined && owner.raw !== '@' && isSoa(rest)) reading.origin = cut(absolute(owner.raw))
    reading.owner =
      isSoa(rest) && cut(absolute(owner.raw)) === reading.origin ? reading.origin : nameOf(owner.raw, reading)
  }
  if (entry.error !== undefined) return refused(entry, 'invalid_zone_file', entry.error, reading.owner)
  if (reading.owner === undefined) return refused(entry, 'name_required', 'The first record must have a name.')
  const head = readHead(rest)
  if (head.type === undefined) return refused(entry, 'required', 'The record type is missing.', reading.owner)
  if (!TYPE.test(head.type)) {
    return refused(entry, 'unknown_type', `"${head.type}" is not a record type.`, reading.owner)
  }
  const known = findZoneType(head.type.toUpperCase())
  const type = known?.type ?? head.type.toUpperCase()
  const record = {
    ...{ line: entry.line, name: reading.owner, type, values: [], isExact: true },
    ...(entry.comment !== undefined && CLOUDFLARE_PROXIED.test(entry.comment) && { rewritten: 'proxied' as const }),
  }
  if (head.class !== 'IN')
    return {
      ...record,
      result: 'skip',
      code: 'not_monitored',
      reason: `The class ${head.class} is not supported. Only IN is.`,
    }
  if (!known) {
    if (isUnsupported(type))
      return { ...record, result: 'skip', code: 'not_monitored', reason: unsupportedReason(type) }
    return refused(entry, 'unknown_type', `Unknown record type ${type}.`, reading.owner, type)
  }
  const { skipped } = known.recordType
  if (skipped !== undefined) return { ...record, result: 'skip', code: 'not_monitored', reason: skipped }
  if (entry.isCut)
    return refused(entry, 'too_long', `The record is longer than ${MAX_ENTRY_LENGTH} characters.`, reading.owner, type)
  const value = dataText(known.recordType, head.data, reading)
  if (value === undefined) return refused(entry, 'invalid_value', shapeOf(type, known.recordType), reading.owner, type)
  return { ...record, values: [value] }
}

/** In the format of an expected value; undefined if the data does not match the type. */
function dataText(recordType: RecordType, data: readonly Token[], reading: Reading): string | undefined {
  if (!isGenericForm(data)) return recordType.fromZoneFile(data, (name) => nameOf(name, reading))
  const value = readGenericForm(recordType, data)
  return value === undefined ? undefined : (recordType.asExpected?.(value, true) ?? value)
}

function shapeOf(type: string, { parts }: RecordType): string {
  return `The record does not have the format of type ${type}: ${parts}.`
}

const isSoa = (tokens: readonly Token[]) => readHead(tokens).type?.toUpperCase() === 'SOA'

/** TTL and class are optional and can have either order. */
function readHead(tokens: readonly Token[]): { class: string; type: string | undefined; data: Token[] } {
  let at = 0
  let recordClass = 'IN'
  for (; at < tokens.length && at < 3; at++) {
    const { raw } = tokens[at]!
    if (AGE.test(raw)) continue
    // RFC 3597 section 5.
    const written = raw.toUpperCase() === 'CLASS1' ? 'IN' : raw.toUpperCase()
    if (CLASSES.has(written) || /^CLASS\d+$/.test(written)) recordClass = written
    else if (!TTL.test(raw)) break
  }
  return { class: recordClass, type: tokens[at]?.raw, data: tokens.slice(at + 1) }
}

function readDirective(entry: Entry, reading: Reading): InputRow | undefined {
  const [directive = '', argument, surplus] = entry.tokens.map(({ raw }) => raw)
  switch (directive.toUpperCase()) {
    case '$TTL':
      return surplus === undefined ? undefined : refusedSurplus(entry, directive, surplus)
    case '$ORIGIN':
      if (argument === undefined) return refused(entry, 'unknown_directive', '$ORIGIN must be followed by a name.')
      reading.origin = cut(absolute(nameOf(argument, reading)))
      return surplus === undefined ? undefined : refusedSurplus(entry, directive, surplus)
    case '$INCLUDE':
      return refused(entry, 'unknown_directive', '$INCLUDE is not supported. Paste the lines of that file instead.')
    case '$GENERATE':
      return refused(entry, 'unknown_directive', '$GENERATE is not supported. Paste the generated records instead.')
    default:
      return refused(entry, 'unknown_directive', `Unknown directive ${directive}. Supported are $ORIGIN and $TTL.`)
  }
}

function refusedSurplus(entry: Entry, directive: string, surplus: string): InputRow {
  return refused(entry, 'unknown_directive', `${directive} is followed by one value. Remove "${surplus}".`)
}

/** An escaped dot is part of the last label. */
const ENDS_WITH_DOT = /^(?:[^\\]|\\.)*\.$/su

/** The absolute name, in the format of monitor names, with escapes decoded to octets. */
function nameOf(written: string, reading: Reading): string {
  const raw = exportedName(written)
  if (raw === '@' || !ENDS_WITH_DOT.test(raw)) {
    if (reading.origin === undefined) reading.needsOrigin = true
    const origin = reading.origin ?? ''
    if (raw === '@') return origin
    return cut(`${escapeAsOctets(raw)}${origin === '.' ? '.' : `.${origin}`}`)
  }
  return cut(escapeAsOctets(raw))
}

/** Longer than every valid name. Relative origins would make each name longer than the one before. */
const MAX_NAME_LENGTH = 2_000

const cut = (name: string) => name.slice(0, MAX_NAME_LENGTH)

const absolute = (name: string) => (name.endsWith('.') ? name : `${name}.`)

function refused({ line, tokens }: Entry, code: ImportReason, reason: string, name?: string, type?: string): InputRow {
  return {
    line,
    name: name ?? tokens[0]?.raw ?? '',
    type: type ?? '',
    values: tokens.slice(-1).map(({ raw }) => raw),
    isExact: true,
    result: 'reject',
    code,
    reason,
  }
}
