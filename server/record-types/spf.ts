import { fieldError } from '#contract/field-errors.ts'
import { canonicalAddress } from '../dns/ip-addresses.ts'
import { type Comparison, compareBy, observeAll } from './compare.ts'
import { parsePastedText } from './presentation.ts'
import { type Conflict, type MonitoredType, type ParsedValue, refused } from './record-type.ts'

/** The TXT records that are SPF (RFC 7208). Exact mode ignores repeated spaces. Flexible mode requires every expected term. */
export const spf: MonitoredType = {
  name: 'SPF',
  queryType: 'TXT',
  suggestedFor: ['apex', 'host'],
  parseExpected,
  observe: (answer) => observeAll(answer).filter(isSpf),
  difference: (expected, observed, isExactMatch) =>
    isExactMatch ? compareBy(TEXTS, expected, observed, true) : compareBy(TERMS, expected, observed, false),
  conflict: (_, observed) => spfConflict(observed),
}

const TEXTS: Comparison<string, string> = {
  expected: (text) => text,
  observed: collapseSpaces,
  matches: (expected, observed) => expected === observed,
}

const TERMS: Comparison<Set<string>, Set<string>> = {
  expected: spfTerms,
  observed: spfTerms,
  matches: (expected, observed) => expected.isSubsetOf(observed),
}

function parseExpected(text: string): ParsedValue {
  // Line breaks and tabs come from the page that the text was copied from.
  const value = collapseSpaces(parsePastedText(text).replace(/\s/g, ' '))
  if (isSpf(value)) return { ok: true, value }
  return refused(fieldError('invalid_spf', { value: text }))
}

function collapseSpaces(text: string): string {
  return text.replace(/ {2,}/g, ' ').trim()
}

/** Whether a text is an SPF record: the version, then a space or the end. RFC 7208 section 4.5. */
export function isSpf(text: string): boolean {
  return /^v=spf1(?: |$)/i.test(text)
}

/** Receivers treat two SPF records as an error. RFC 7208 section 4.5. */
export function spfConflict(texts: readonly string[]): Conflict | undefined {
  const values = texts.filter(isSpf)
  return values.length > 1 ? { code: 'several_spf_records', values } : undefined
}

/** The mechanisms and modifiers of an SPF record in comparable form. */
export function spfTerms(text: string): Set<string> {
  const [, ...terms] = text.split(' ').filter((term) => term !== '')
  // A hostile record can have 32,000 terms, most of them the same.
  return new Set(Array.from(new Set(terms), comparableTerm))
}

/** RFC 7208 section 4.6.1: letter case does not matter, `+` is the default qualifier, a modifier has none. */
function comparableTerm(term: string): string {
  const normalized = term.includes('%') ? lowerCase(term) : term.toLowerCase()
  if (/^[a-z][a-z0-9._-]*=/.test(normalized)) return withoutRootDot(normalized)
  const [, qualifier, mechanism = ''] = normalized.match(/^([+?~-]?)(.*)$/s) ?? []
  return `${qualifier || '+'}${comparableAddress(mechanism) ?? withoutRootDot(mechanism)}`
}

// Letter case matters in macros: upper case means URL-escaped. RFC 7208 section 7.3.
function lowerCase(term: string): string {
  return term.replace(/%\{[^}%]*\}?|[^%]+|%/g, (part) =>
    part.startsWith('%{') && part.endsWith('}') ? part : part.toLowerCase(),
  )
}

function comparableAddress(mechanism: string): string | undefined {
  if (!mechanism.startsWith('ip')) return undefined
  const [, name, ip = '', length] = mechanism.match(/^(ip4|ip6):([^/]*)(?:\/(\d+))?$/) ?? []
  const address = canonicalAddress(ip)
  if (name === undefined || address === undefined) return undefined
  const fullLength = name === 'ip4' ? 32 : 128
  return `${name}:${address}/${length === undefined ? fullLength : Number(length)}`
}

function withoutRootDot(term: string): string {
  return term.replace(/\.$/, '')
}
