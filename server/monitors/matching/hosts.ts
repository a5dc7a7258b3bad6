import { canonicalAddress } from '../../dns/addresses.ts'
import { endsInNumber, normalizeName } from '../../dns/names.ts'
import { compareTexts, observeAll, quoted } from './compare.ts'
import type { Matcher, ParsedValue } from './matcher.ts'

/** NS and PTR: a set of host names. */
export function hostMatcher(questionType: 'NS' | 'PTR'): Matcher {
  return {
    questionType,
    parseExpected: parseHost,
    observe: observeAll,
    difference: compareTexts,
  }
}

/** A host name in canonical form; an address in its place is the most common mistake and never works. RFC 2181 section 10.3. */
export function parseHost(text: string): ParsedValue {
  const written = text.trim()
  if (canonicalAddress(written)) {
    return { ok: false, reason: `${quoted(written)} is an address; write a host name like host.example.com.` }
  }
  if (written === '.') return { ok: false, reason: 'The root "." is no host name; write one like host.example.com.' }
  const parsed = normalizeName(written)
  if (parsed.ok && endsInNumber(parsed.name)) {
    const reason = `${quoted(written)} ends in a number, which no host name does; write one like host.example.com.`
    return { ok: false, reason }
  }
  return parsed.ok ? { ok: true, value: parsed.name } : parsed
}
