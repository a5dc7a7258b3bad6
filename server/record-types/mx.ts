import { fieldError } from '#contract/field-errors.ts'
import { type Comparison, compareBy, observeAll } from './compare.ts'
import { parseHostOrRoot } from './fields.ts'
import { absoluteHost } from './presentation.ts'
import { type ParsedValue, type RecordType, refused } from './record-type.ts'

type Exchange = { priority: string | undefined; host: string }

const EXCHANGES: Comparison<Exchange, Exchange> = {
  expected: exchangeOf,
  observed: exchangeOf,
  matches: (expected, observed) =>
    expected.host === observed.host && (expected.priority === undefined || expected.priority === observed.priority),
}

/** RFC 1035 section 3.3.9. A host, or a priority and a host. The priority is compared only if the expected value has one. */
export const mx: RecordType = {
  name: 'MX',
  queryType: 'MX',
  code: 15,
  parts: 'priority host',
  suggestedFor: ['apex', 'host'],
  read: (rdata) => `${rdata.uint16()} ${rdata.name()}`,
  parseExpected,
  observe: observeAll,
  difference: (expected, observed, isExactMatch) => compareBy(EXCHANGES, expected, observed, isExactMatch),
  fromZoneFile: (data, wholeName) => (data.length === 2 ? `${data[0]!.raw} ${wholeName(data[1]!.raw)}` : undefined),
  toZoneFile: (value) => {
    const { priority, host } = exchangeOf(value)
    return priority === undefined ? undefined : `${priority} ${absoluteHost(host)}`
  },
  lacksPriority: (value) => !/\s/.test(value),
}

// The root as the host means that the domain accepts no mail. RFC 7505 section 3.
function parseExpected(text: string): ParsedValue {
  const [first = '', second, ...more] = text.trim().split(/\s+/)
  if (second === undefined && /^\d+$/.test(first)) {
    return refused(fieldError('priority_without_host', { value: text }))
  }
  if (second === undefined) return parseHostOrRoot(first)
  const priority = Number(first)
  if (more.length > 0 || !/^\d{1,5}$/.test(first) || priority > 65_535) {
    return refused(fieldError('invalid_mx', { value: text }))
  }
  const host = parseHostOrRoot(second)
  return host.ok ? { ok: true, value: `${priority} ${host.value}` } : host
}

function exchangeOf(text: string): Exchange {
  const [first = '', second] = text.split(' ')
  return second === undefined ? { priority: undefined, host: first } : { priority: first, host: second }
}
