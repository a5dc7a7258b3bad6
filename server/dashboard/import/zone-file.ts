import { fieldError } from '#contract/field-errors.ts'
import type { ImportReason } from '#contract/import-codes.ts'
import { escapeAsOctets, type Token } from '../../monitors/record-types/presentation.ts'
import type { RecordType } from '../../monitors/record-types/record-type.ts'
import { findZoneType, isGenericForm, readGenericForm } from '../../monitors/record-types/record-types.ts'
import { invalid } from '../../problem.ts'
import { type InputRow, isUnsupported, unsupportedReason } from './rows.ts'
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
const TTL = /^(?:\d+(?:[smhdw]|$))+$/i

/**
 * The records of the file, in its order. `origin`: the zone's name, if the file has no $ORIGIN. Throws a 400 for relative names
 * without an origin.
 */
export async function* readZone(text: string, origin: string | undefined): AsyncGenerator<InputRow> {
  const reading: Reading = { origin: origin && absolute(origin), owner: undefined, needsOrigin: false }
  for await (const entry of zoneEntries(text)) {
    const record =
      entry.error === undefined ? readEntry(entry, reading) : refused(entry, 'invalid_zone_file', entry.error)
    if (record) yield record
  }
  if (reading.needsOrigin) {
    throw invalid({ origin: fieldError('origin_required') })
  }
}

function readEntry(entry: Entry, reading: Reading): InputRow | undefined {
  const [first] = entry.tokens
  if (!first) return undefined
  if (!entry.isIndented && !first.isQuoted && first.raw.startsWith('$')) return readDirective(entry, reading)
  const rest = [...entry.tokens]
  if (!entry.isIndented) {
    const owner = rest.shift()!
    // The absolute owner name of the SOA record is the origin if there is no $ORIGIN.
    if (reading.origin === undefined && owner.raw.endsWith('.') && isSoa(rest)) reading.origin = owner.raw
    reading.owner = nameOf(owner.raw, reading)
  }
  if (reading.owner === undefined) return refused(entry, 'name_required', 'The first record must have a name.')
  const head = readHead(rest)
  if (head.type === undefined) return refused(entry, 'required', 'The record type is missing.', reading.owner)
  const known = findZoneType(head.type.toUpperCase())
  const type = known?.type ?? head.type.toUpperCase()
  const record = { line: entry.line, name: reading.owner, type, values: [], isExact: true }
  if (head.class !== 'IN')
    return {
      ...record,
      fate: 'skip',
      code: 'not_monitored',
      why: `The class ${head.class} is not supported. Only IN is.`,
    }
  if (!known) {
    if (isUnsupported(type)) return { ...record, fate: 'skip', code: 'not_monitored', why: unsupportedReason(type) }
    return refused(entry, 'unknown_type', `Unknown record type ${type}.`, reading.owner, type)
  }
  const { skipped } = known.recordType
  if (skipped !== undefined) return { ...record, fate: 'skip', code: 'not_monitored', why: skipped }
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
  for (; at < tokens.length && at < 2; at++) {
    const { raw } = tokens[at]!
    if (CLASSES.has(raw.toUpperCase())) recordClass = raw.toUpperCase()
    else if (!TTL.test(raw)) break
  }
  return { class: recordClass, type: tokens[at]?.raw, data: tokens.slice(at + 1) }
}

function readDirective(entry: Entry, reading: Reading): InputRow | undefined {
  const [directive = '', argument] = entry.tokens.map(({ raw }) => raw)
  switch (directive.toUpperCase()) {
    case '$TTL':
      return undefined
    case '$ORIGIN':
      if (argument === undefined) return refused(entry, 'unknown_directive', '$ORIGIN must be followed by a name.')
      reading.origin = absolute(nameOf(argument, reading))
      return undefined
    case '$INCLUDE':
      return refused(entry, 'unknown_directive', '$INCLUDE is not supported. Paste the lines of that file instead.')
    case '$GENERATE':
      return refused(entry, 'unknown_directive', '$GENERATE is not supported. Paste the generated records instead.')
    default:
      return refused(entry, 'unknown_directive', `Unknown directive ${directive}. Supported are $ORIGIN and $TTL.`)
  }
}

/** An escaped dot is part of the last label. */
const ENDS_WITH_DOT = /^(?:[^\\]|\\.)*\.$/su

/** The absolute name, in the format of monitor names, with escapes decoded to octets. */
function nameOf(raw: string, reading: Reading): string {
  if (raw === '@' || !ENDS_WITH_DOT.test(raw)) {
    if (reading.origin === undefined) reading.needsOrigin = true
    const origin = reading.origin ?? ''
    if (raw === '@') return origin
    return `${escapeAsOctets(raw)}${origin === '.' ? '.' : `.${origin}`}`
  }
  return escapeAsOctets(raw)
}

const absolute = (name: string) => (name.endsWith('.') ? name : `${name}.`)

function refused({ line, tokens }: Entry, code: ImportReason, why: string, name?: string, type?: string): InputRow {
  return {
    line,
    name: name ?? tokens[0]?.raw ?? '',
    type: type ?? '',
    values: tokens.slice(-1).map(({ raw }) => raw),
    isExact: true,
    fate: 'refuse',
    code,
    why,
  }
}
