import { compareTexts } from './compare.ts'
import { hostRecord } from './fields.ts'
import type { RecordType } from './record-type.ts'

/**
 * RFC 1035 section 3.3.1. The first target is what the name's owner controls; a flexible monitor also accepts any name that it
 * leads to. Where a name has several, against RFC 2181 section 10.1, none of them is hidden.
 */
export const cname: RecordType = {
  ...hostRecord({ queryType: 'CNAME', code: 5, likelyAt: ['host', 'service'] }),
  difference: (expected, observed, isExactMatch, chain) => {
    if (isExactMatch) return compareTexts(expected, observed, true)
    return compareTexts(expected, [...observed, ...chain.map((alias) => alias.target)], false)
  },
}
