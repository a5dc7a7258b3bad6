import { fieldError } from '#contract/field-errors.ts'
import type { RdataReader } from '../../dns/rdata.ts'
import { type Comparison, compareBy, observeAll } from './compare.ts'
import { quotedStringsOf, readPasted, utf8Text, writtenText, writtenToken } from './presentation.ts'
import { type RecordType, refused } from './record-type.ts'
import { isSpf, spfTerms } from './spf.ts'

/** RFC 1035 section 3.3.14. Any text. A flexible expectation that is an SPF, DMARC or DKIM record is compared by its parts. */
export const txt: RecordType = {
  name: 'TXT',
  queryType: 'TXT',
  code: 16,
  parts: 'text',
  likelyAt: ['apex', 'host', 'service'],
  read,
  parseExpected: (text) => {
    if (text === '') return refused(fieldError('empty_text'))
    return { ok: true, value: writtenText(readPasted(text)) }
  },
  observe: observeAll,
  difference: (expected, observed, isExactMatch) =>
    isExactMatch ? compareBy(TEXTS, expected, observed, true) : compareBy(PARTS, expected, observed, false),
  fromZoneFile: (data) =>
    data.length === 0 ? undefined : data.map(({ raw }) => writtenToken({ raw, isQuoted: true })).join(' '),
  toZoneFile: (value) => quotedStringsOf(readPasted(value)),
  asExpected: writtenText,
  // A text that is yet to come will have others beside it.
  isExactByDefault: (observed) => observed.length > 0,
}

// The strings mean one text: RFC 7208 section 3.3, RFC 6376 section 3.6.2.2. There is at least one.
function read(rdata: RdataReader): string {
  const strings = [rdata.characterString()]
  while (!rdata.isAtEnd) strings.push(rdata.characterString())
  return utf8Text(strings.length === 1 ? strings[0]! : Buffer.concat(strings))
}

/** What kind of record a text is, and its parts; undefined for a text without any. */
type Parts = { kind: 'spf' | 'DMARC1' | 'DKIM1'; parts: ReadonlySet<string> } | undefined
type Text = { text: string; parts: Parts }

const TEXTS: Comparison<string, string> = {
  expected: readPasted,
  observed: (text) => text,
  meets: (expected, observed) => expected === observed,
}

const PARTS: Comparison<Text, Text> = {
  expected: (written) => {
    const text = readPasted(written)
    return { text, parts: partsOf(text.trim()) }
  },
  observed: (text) => ({ text, parts: partsOf(text) }),
  meets: (expected, observed) => expected.text === observed.text || hasAllParts(expected.parts, observed.parts),
}

function partsOf(text: string): Parts {
  if (isSpf(text)) return { kind: 'spf', parts: spfTerms(text) }
  const list = readTags(text)
  return list && { kind: list.version, parts: list.tags }
}

function hasAllParts(expected: Parts, observed: Parts): boolean {
  return expected !== undefined && expected.kind === observed?.kind && expected.parts.isSubsetOf(observed.parts)
}

/** A DMARC (RFC 7489 section 6.3) or DKIM (RFC 6376 section 3.6.1) record as `tag=value` pairs in comparable form. */
type TagList = { version: 'DMARC1' | 'DKIM1'; tags: ReadonlySet<string> }

/** Undefined for any text that is not such a record: its version must stand first. */
function readTags(text: string): TagList | undefined {
  const version = text.match(/^[vV][ \t]*=[ \t]*(DMARC1|DKIM1)\s*(?:;|$)/)?.[1]
  if (version !== 'DMARC1' && version !== 'DKIM1') return undefined
  const tags = text
    .split(';')
    .map((tag) => (version === 'DMARC1' ? dmarcTag(tag) : dkimTag(tag)))
    .filter((tag) => tag !== '')
  // A name that comes twice makes the whole list invalid: RFC 6376 section 3.2.
  const names = new Set(tags.map((tag) => nameAndValue(tag)[0]))
  return names.size < tags.length ? undefined : { version, tags: new Set(tags) }
}

function dmarcTag(tag: string): string {
  const [name, value] = nameAndValue(tag)
  return value === undefined ? name.toLowerCase() : `${name.toLowerCase()}=${value}`
}

// DKIM reads tag names by letter case, and a long key may be folded anywhere. RFC 6376 sections 3.2 and 3.6.1.
function dkimTag(tag: string): string {
  const [name, value] = nameAndValue(tag)
  if (value === undefined) return name
  return `${name}=${name === 'p' ? value.replace(/\s/g, '') : value}`
}

function nameAndValue(tag: string): [name: string, value: string | undefined] {
  const at = tag.indexOf('=')
  return at < 0 ? [tag.trim(), undefined] : [tag.slice(0, at).trim(), tag.slice(at + 1).trim()]
}
