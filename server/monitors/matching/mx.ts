import { type Comparison, compareBy, observeAll, quoted } from './compare.ts'
import { parseHost } from './hosts.ts'
import type { Matcher, ParsedValue } from './matcher.ts'

type Exchange = { priority: string | undefined; host: string }

const EXCHANGES: Comparison<Exchange, Exchange> = {
  expected: exchangeOf,
  observed: exchangeOf,
  meets: ({ priority, host }, found) => host === found.host && (priority === undefined || priority === found.priority),
}

/** A host, or a priority and a host. A priority counts only where the expectation states it. */
export const mx: Matcher = {
  questionType: 'MX',
  parseExpected,
  observe: observeAll,
  difference: (expected, observed, isExactMatch) => compareBy(EXCHANGES, expected, observed, isExactMatch),
}

function parseExpected(text: string): ParsedValue {
  const [first = '', second, ...more] = text.trim().split(/\s+/)
  if (second === undefined && /^\d+$/.test(first)) {
    return { ok: false, reason: `${quoted(text)} is a priority without a host; write both, as in 10 mail.example.com.` }
  }
  if (second === undefined) return parseExchange(first)
  const priority = Number(first)
  if (more.length > 0 || !/^\d{1,5}$/.test(first) || priority > 65_535) {
    const reason = `${quoted(text)} is not "priority host"; the priority is a number from 0 to 65535, as in 10 mail.example.com.`
    return { ok: false, reason }
  }
  const exchange = parseExchange(second)
  return exchange.ok ? { ok: true, value: `${priority} ${exchange.value}` } : exchange
}

function parseExchange(text: string): ParsedValue {
  // The root says that the domain takes no mail. RFC 7505 section 3.
  if (text === '.') return { ok: true, value: '.' }
  return parseHost(text)
}

function exchangeOf(text: string): Exchange {
  const [first = '', second] = text.split(' ')
  return second === undefined ? { priority: undefined, host: first } : { priority: first, host: second }
}
