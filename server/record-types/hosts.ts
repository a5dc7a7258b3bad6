import { compareTexts, observeAll } from './compare.ts'
import { parseHost } from './fields.ts'
import { absoluteHost } from './presentation.ts'
import type { RecordType } from './record-type.ts'

/** RFC 1035 section 3.3.11. */
export const ns = hostRecord({ queryType: 'NS', code: 2, suggestedFor: ['apex', 'host'] })

/** RFC 1035 section 3.3.12. */
export const ptr = hostRecord({ queryType: 'PTR', code: 12, suggestedFor: ['address'] })

/**
 * RFC 1035 section 3.3.1. The owner of the name controls the first target only; a flexible monitor also accepts every other name on the
 * chain. If a name has several CNAME records, against RFC 2181 section 10.1, all of them are observed.
 */
export const cname: RecordType = {
  ...hostRecord({ queryType: 'CNAME', code: 5, suggestedFor: ['host', 'service'] }),
  difference: (expected, observed, isExactMatch, chain) =>
    isExactMatch
      ? compareTexts(expected, observed, true)
      : compareTexts(expected, [...observed, ...chain.map(({ target }) => target)], false),
}

function hostRecord(
  type: Pick<RecordType, 'code' | 'suggestedFor'> & { queryType: 'NS' | 'PTR' | 'CNAME' },
): RecordType {
  return {
    ...type,
    name: type.queryType,
    parts: 'host',
    read: (rdata) => rdata.name(),
    parseExpected: parseHost,
    observe: observeAll,
    difference: compareTexts,
    fromZoneFile: (data, wholeName) => (data.length === 1 ? wholeName(data[0]!.raw) : undefined),
    toZoneFile: absoluteHost,
  }
}
