import { type Comparison, compareBy, observeAll, quoted } from './compare.ts'
import type { Matcher, ParsedValue } from './matcher.ts'
import { readPasted } from './pasted.ts'
import { isSpf, spfTerms } from './spf-terms.ts'

/** The TXT records that are SPF. Exact: the same text but for runs of blanks. Flexible: every term present. */
export const spf: Matcher = {
  questionType: 'TXT',
  isSingle: true, // RFC 7208 section 4.5
  parseExpected,
  observe: (answer) => observeAll(answer).filter(isSpf),
  difference: (expected, observed, isExactMatch) =>
    isExactMatch ? compareBy(TEXTS, expected, observed, true) : compareBy(TERMS, expected, observed, false),
}

const TEXTS: Comparison<string, string> = {
  expected: (text) => text,
  observed: collapsed,
  meets: (expected, observed) => expected === observed,
}

const TERMS: Comparison<Set<string>, Set<string>> = {
  expected: spfTerms,
  observed: spfTerms,
  meets: (expected, observed) => expected.isSubsetOf(observed),
}

function parseExpected(text: string): ParsedValue {
  // A line break or a tab can only come from the page it was pasted from.
  const value = collapsed(readPasted(text).replace(/\s/g, ' '))
  if (isSpf(value)) return { ok: true, value }
  return {
    ok: false,
    reason: `${quoted(text)} is no SPF record; it begins with "v=spf1", as in v=spf1 include:_spf.example.com -all.`,
  }
}

function collapsed(text: string): string {
  return text.replace(/ {2,}/g, ' ').trim()
}
