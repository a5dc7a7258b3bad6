import { canonicalAddress } from '../../dns/addresses.ts'

/** Whether a text is an SPF record: the version, then a blank or the end. RFC 7208 section 4.5. */
export function isSpf(text: string): boolean {
  return /^v=spf1(?: |$)/i.test(text)
}

/** The mechanisms and modifiers of an SPF record in comparable form. */
export function spfTerms(text: string): Set<string> {
  const [, ...terms] = text.split(' ').filter((term) => term !== '')
  // A hostile record holds 32,000 terms; most of them are the same.
  return new Set(Array.from(new Set(terms), comparableTerm))
}

/** RFC 7208 section 4.6.1: letter case does not matter, `+` is the default qualifier, a modifier has none. */
function comparableTerm(term: string): string {
  const written = term.includes('%') ? lowerCase(term) : term.toLowerCase()
  if (/^[a-z][a-z0-9._-]*=/.test(written)) return withoutRootDot(written)
  const [, qualifier, mechanism = ''] = written.match(/^([+?~-]?)(.*)$/s) ?? []
  return `${qualifier || '+'}${comparableAddress(mechanism) ?? withoutRootDot(mechanism)}`
}

// In a macro the letter's case says whether its text is URL-escaped. RFC 7208 section 7.3.
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
  const whole = name === 'ip4' ? 32 : 128
  return `${name}:${address}/${length === undefined ? whole : Number(length)}`
}

function withoutRootDot(term: string): string {
  return term.replace(/\.$/, '')
}
