import { fieldError } from '#contract/field-errors.ts'
import type { RdataReader } from '../dns/rdata.ts'
import { type Comparison, compareBy, observeAll } from './compare.ts'
import {
  decodeUtf8,
  formatToken,
  isUnquotedRecordLine,
  parsePastedText,
  quoteIfNeeded,
  toQuotedStrings,
} from './presentation.ts'
import { type Conflict, type RecordType, refused } from './record-type.ts'
import { isSpf, spfConflict, spfTerms } from './spf.ts'

/** RFC 1035 section 3.3.14. Any text. In flexible mode SPF, DMARC and DKIM records are compared part by part. */
export const txt: RecordType = {
  name: 'TXT',
  queryType: 'TXT',
  code: 16,
  parts: 'text',
  suggestedFor: ['apex', 'host', 'service'],
  read,
  parseExpected: (text) => {
    if (text === '') return refused(fieldError('empty_text'))
    if (isUnquotedRecordLine(text)) return refused(fieldError('record_line_without_quotes', { value: text }))
    return { ok: true, value: quoteIfNeeded(parsePastedText(text)) }
  },
  observe: observeAll,
  difference: (expected, observed, isExactMatch) =>
    isExactMatch ? compareBy(TEXTS, expected, observed, true) : compareBy(PARTS, expected, observed, false),
  conflict: (expected, observed, isExactMatch) =>
    isExactMatch
      ? undefined
      : findConflict(new Set(expected.map((value) => versionOf(parsePastedText(value)))), observed),
  fromZoneFile: (data) =>
    data.length === 0 ? undefined : data.map(({ raw }) => formatToken({ raw, isQuoted: true })).join(' '),
  toZoneFile: (value) => toQuotedStrings(parsePastedText(value)),
  asExpected: quoteIfNeeded,
  // If there are no texts yet, a new text will not be the only one.
  isExactByDefault: (observed) => observed.length > 0,
}

// The strings are parts of one text: RFC 7208 section 3.3, RFC 6376 section 3.6.2.2. There is at least one.
function read(rdata: RdataReader): string {
  const strings = [rdata.characterString()]
  while (!rdata.isAtEnd) strings.push(rdata.characterString())
  return decodeUtf8(strings.length === 1 ? strings[0]! : Buffer.concat(strings))
}

/** The kind of record in a text, and its parts; undefined for any other text. */
type Parts = { kind: 'spf' | 'DMARC1' | 'DKIM1'; parts: ReadonlySet<string> } | undefined
type Text = { text: string; parts: Parts }

const TEXTS: Comparison<string, string> = {
  expected: parsePastedText,
  observed: (text) => text,
  matches: (expected, observed) => expected === observed,
}

const PARTS: Comparison<Text, Text> = {
  expected: (value) => {
    const text = parsePastedText(value)
    return { text, parts: partsOf(text.trim(), false) }
  },
  observed: (text) => ({ text, parts: partsOf(text.trim(), true) }),
  matches: (expected, observed) => expected.text === observed.text || hasAllParts(expected.parts, observed.parts),
}

/** `hasDefaults`: with the tags that a record does not state because they have a default. */
function partsOf(text: string, hasDefaults: boolean): Parts {
  if (isSpf(text)) return { kind: 'spf', parts: spfTerms(text) }
  return parseTags(text, hasDefaults)
}

function hasAllParts(expected: Parts, observed: Parts): boolean {
  return expected !== undefined && expected.kind === observed?.kind && expected.parts.isSubsetOf(observed.parts)
}

type Tag = [name: string, value: string | undefined]

/** The tags of a DMARC (RFC 7489 section 6.3) or DKIM (RFC 6376 section 3.6.1) record in comparable form. */
function parseTags(text: string, hasDefaults: boolean): Parts {
  const raw = text
    .split(';')
    .map(nameAndValue)
    .filter(([name, value]) => name !== '' || value !== undefined)
  const kind = kindOf(raw)
  if (kind === undefined) return undefined
  const tags = raw.map(kind === 'DMARC1' ? dmarcTag : dkimTag)
  const names = new Set(tags.map(([name]) => name))
  // A repeated name makes the whole list invalid: RFC 6376 section 3.2.
  if (names.size < tags.length) return undefined
  const defaults = kind === 'DKIM1' && hasDefaults ? DKIM_DEFAULTS.filter(([name]) => !names.has(name)) : []
  const parts = [...tags, ...defaults].map(([name, value]) => (value === undefined ? name : `${name}=${value}`))
  return { kind, parts: new Set(parts) }
}

/** RFC 6376 section 3.6.1. An empty list of flags is the default too. */
const DKIM_DEFAULTS: readonly [string, string][] = [
  ['v', 'DKIM1'],
  ['k', 'rsa'],
  ['s', '*'],
  ['t', ''],
]
const DKIM_TAGS = new Set(['v', 'h', 'k', 'n', 'p', 's', 't', 'g'])

/** The version must be first. A DKIM record may omit it, and is then known by its tags. */
function kindOf(tags: readonly Tag[]): 'DMARC1' | 'DKIM1' | undefined {
  const [name = '', value = ''] = tags[0] ?? []
  if (name.toLowerCase() === 'v') return value === 'DMARC1' || value === 'DKIM1' ? value : undefined
  const isDkim =
    tags.some(([tag]) => tag === 'p') && tags.every(([tag, text]) => DKIM_TAGS.has(tag) && text !== undefined)
  return isDkim && !tags.some(([tag]) => tag === 'v') ? 'DKIM1' : undefined
}

/** Tags with a keyword, a number or a list of them. RFC 7489 section 6.4 and RFC 9091: letter case does not matter. */
const DMARC_KEYWORDS = new Set(['p', 'sp', 'np', 'psd', 't', 'adkim', 'aspf', 'fo', 'rf', 'pct', 'ri'])

function dmarcTag([tag, value]: Tag): Tag {
  const name = tag.toLowerCase()
  if (value === undefined) return [name, value]
  return [name, DMARC_KEYWORDS.has(name) ? withoutSpaces(value).toLowerCase() : value]
}

// In DKIM letter case matters, and a key may have spaces anywhere. RFC 6376 sections 3.2 and 3.6.1.
function dkimTag([tag, value]: Tag): Tag {
  const name = tag === 'V' ? 'v' : tag
  if (value === undefined) return [name, value]
  if (name === 'p') return [name, withoutSpaces(value)]
  return ['h', 's', 't'].includes(name) ? [name, withoutSpaces(value).split(':').sort().join(':')] : [name, value]
}

const withoutSpaces = (text: string) => text.replace(/\s/g, '')

function nameAndValue(tag: string): Tag {
  const equals = tag.indexOf('=')
  return equals < 0 ? [tag.trim(), undefined] : [tag.slice(0, equals).trim(), tag.slice(equals + 1).trim()]
}

type Version = 'spf' | 'DMARC1' | undefined

function versionOf(text: string): Version {
  const record = text.trim()
  if (isSpf(record)) return 'spf'
  return /^v[ \t]*=[ \t]*DMARC1\s*(?:;|$)/i.test(record) ? 'DMARC1' : undefined
}

/** Receivers apply none of two policies: RFC 7208 section 4.5, RFC 7489 section 6.6.3. */
function findConflict(expected: ReadonlySet<Version>, observed: readonly string[]): Conflict | undefined {
  if (expected.has('spf')) {
    const conflict = spfConflict(observed)
    if (conflict) return conflict
  }
  if (!expected.has('DMARC1')) return undefined
  const policies = observed.filter((text) => versionOf(text) === 'DMARC1')
  return policies.length > 1 ? { code: 'several_dmarc_records', values: policies } : undefined
}
