import { type Comparison, compareBy, observeAll } from './compare.ts'
import type { Matcher } from './matcher.ts'
import { readPasted, writtenText } from './pasted.ts'
import { isSpf, spfTerms } from './spf-terms.ts'
import { readTags } from './tag-list.ts'

/** Any text. A flexible expectation that is an SPF, DMARC or DKIM record is compared by its parts. */
export const txt: Matcher = {
  questionType: 'TXT',
  parseExpected: (text) => {
    if (text === '') return { ok: false, reason: 'The text is empty; an empty TXT record is written "".' }
    return { ok: true, value: writtenText(readPasted(text)) }
  },
  observe: observeAll,
  difference: (expected, observed, isExactMatch) =>
    isExactMatch ? compareBy(TEXTS, expected, observed, true) : compareBy(PARTS, expected, observed, false),
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
