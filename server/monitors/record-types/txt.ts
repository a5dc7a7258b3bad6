import { fieldError } from '#contract/field-errors.ts'
import type { RdataReader } from '../../dns/rdata.ts'
import { type Comparison, compareBy, observeAll } from './compare.ts'
import {
  decodeUtf8,
  formatToken,
  isUnquotedRecordLine,
  parsePastedText,
  quoteIfNeeded,
  toQuotedStrings,
} from './presentation.ts'
import { type RecordType, refused } from './record-type.ts'
import { isSpf, spfTerms } from './spf.ts'

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
    return { text, parts: partsOf(text.trim()) }
  },
  observed: (text) => ({ text, parts: partsOf(text) }),
  matches: (expected, observed) => expected.text === observed.text || hasAllParts(expected.parts, observed.parts),
}

function partsOf(text: string): Parts {
  if (isSpf(text)) return { kind: 'spf', parts: spfTerms(text) }
  return parseTags(text)
}

function hasAllParts(expected: Parts, observed: Parts): boolean {
  return expected !== undefined && expected.kind === observed?.kind && expected.parts.isSubsetOf(observed.parts)
}

/**
 * The `tag=value` pairs of a DMARC (RFC 7489 section 6.3) or DKIM (RFC 6376 section 3.6.1) record in comparable form. The version must be
 * first.
 */
function parseTags(text: string): Parts {
  const version = text.match(/^[vV][ \t]*=[ \t]*(DMARC1|DKIM1)\s*(?:;|$)/)?.[1]
  if (version !== 'DMARC1' && version !== 'DKIM1') return undefined
  const tags = text
    .split(';')
    .map((tag) => (version === 'DMARC1' ? dmarcTag(tag) : dkimTag(tag)))
    .filter((tag) => tag !== '')
  // A repeated name makes the whole list invalid: RFC 6376 section 3.2.
  const names = new Set(tags.map((tag) => nameAndValue(tag)[0]))
  return names.size < tags.length ? undefined : { kind: version, parts: new Set(tags) }
}

function dmarcTag(tag: string): string {
  const [name, value] = nameAndValue(tag)
  return value === undefined ? name.toLowerCase() : `${name.toLowerCase()}=${value}`
}

// In DKIM letter case matters in tag names, and a key may have spaces anywhere. RFC 6376 sections 3.2 and 3.6.1.
function dkimTag(tag: string): string {
  const [name, value] = nameAndValue(tag)
  if (value === undefined) return name
  return `${name}=${name === 'p' ? value.replace(/\s/g, '') : value}`
}

function nameAndValue(tag: string): [name: string, value: string | undefined] {
  const equals = tag.indexOf('=')
  return equals < 0 ? [tag.trim(), undefined] : [tag.slice(0, equals).trim(), tag.slice(equals + 1).trim()]
}
