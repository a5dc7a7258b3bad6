import { compareTexts, observeAll } from './compare.ts'
import { parseHost } from './hosts.ts'
import type { Matcher } from './matcher.ts'

/** The first target is what the name's owner controls; a flexible monitor also accepts any name that it leads to. */
export const cname: Matcher = {
  questionType: 'CNAME',
  isSingle: true, // RFC 2181 section 10.1
  parseExpected: parseHost,
  // One target, unless the name is set up against RFC 2181 section 10.1; then none of them is hidden.
  observe: observeAll,
  difference: (expected, observed, isExactMatch, chain) => {
    if (isExactMatch) return compareTexts(expected, observed, true)
    return compareTexts(expected, [...observed, ...chain.map((alias) => alias.target)], false)
  },
}
