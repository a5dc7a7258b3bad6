import { domainToASCII } from 'node:url'
import { addressOctets } from './addresses.ts'

/** `name` is canonical: lower case, A-labels, no trailing dot, the root as the empty string. `reason` is a sentence. */
export type ParsedName = { ok: true; name: string } | { ok: false; reason: string }

/** RFC 1035 section 2.3.4, in octets; 255 on the wire are 253 characters of text. */
export const MAX_LABEL = 63
export const MAX_NAME = 253

// Outside this set an octet is written \DDD, so that a pasted URL or mail address is refused rather than asked.
const PLAIN = /^[a-z0-9_*/+=~!#&'-]$/

/** The canonical text of each octet inside a label: ASCII letters in lower case (RFC 4343), the unusual as `\DDD`. */
export const OCTET_TEXT: readonly string[] = Array.from({ length: 256 }, (_, octet) => {
  const character = String.fromCharCode(octet).toLowerCase()
  return octet < 128 && PLAIN.test(character) ? character : `\\${String(octet).padStart(3, '0')}`
})

/**
 * The canonical form of a name as people write it: Unicode becomes A-labels, letter case and one trailing dot go.
 * Octets that are not plain text may be written `\DDD`. A slash stands only below `arpa` (RFC 2317).
 */
export function normalizeName(text: string): ParsedName {
  const dotted = text.replace(/[\u3002\uff0e\uff61]/g, '.')
  if (dotted === '.') return { ok: true, name: '' }
  if (text === '') return refused('A name must not be empty; the root is written as a single dot.')
  if (text.length > 4 * MAX_NAME) return refused(`A name has at most ${MAX_NAME} characters.`)
  const underArpa = /\.arpa\.?$/i.test(dotted)
  const labels: string[] = []
  let octets = 0
  for (const label of dotted.replace(/\.$/, '').split('.')) {
    const parsed = normalizeLabel(label, underArpa)
    if (!parsed.ok) return parsed
    labels.push(parsed.name)
    octets += octetsIn(parsed.name) + 1
  }
  if (octets - 1 > MAX_NAME) return refused(`A name has at most ${MAX_NAME} characters; this one has ${octets - 1}.`)
  return { ok: true, name: labels.join('.') }
}

/** The name that holds the PTR records of an IPv4 or IPv6 address; undefined when the text is not an address. RFC 1035 section 3.5, RFC 3596 section 2.5. */
export function reverseName(ip: string): string | undefined {
  const octets = addressOctets(ip)
  if (octets === undefined) return undefined
  if (octets.length === 4) return `${octets.reverse().join('.')}.in-addr.arpa`
  const nibbles = Array.from(octets).flatMap((octet) => [octet >> 4, octet & 15])
  const digits = nibbles.map((nibble) => nibble.toString(16))
  return `${digits.reverse().join('.')}.ip6.arpa`
}

/** Whether a canonical name is the zone's apex or stands below it. */
export function isBelow(name: string, zone: string): boolean {
  return zone === '' || name === zone || name.endsWith(`.${zone}`)
}

/** The labels of a canonical name as octets. Throws on text that `normalizeName` would refuse: that is a bug in the caller. */
export function nameLabels(name: string): number[][] {
  if (name === '') return []
  const labels = name.split('.').map(labelOctets)
  const tooLong = labels.reduce((sum, label) => sum + label.length + 1, -1) > MAX_NAME
  if (tooLong || labels.some((label) => label.length === 0 || label.length > MAX_LABEL)) {
    throw new Error(`Not a name: ${name.slice(0, 300)}`)
  }
  return labels
}

function normalizeLabel(label: string, underArpa: boolean): ParsedName {
  if (label === '') return refused('A name must not have an empty label (two dots in a row, or a dot in front).')
  const ascii = isAscii(label) ? label : aLabel(label)
  if (ascii === undefined) return refused(`The label "${label}" is not valid in an internationalized name.`)
  const wrong = ascii.replace(/\\(?:[01]\d\d|2[0-4]\d|25[0-5])/g, '').match(/[^a-z0-9_*/+=~!#&'-]/i)
  if (wrong) return refused(`The character "${wrong[0]}" is not allowed in a name; another octet is written \\DDD.`)
  if (ascii.includes('/') && !underArpa) return refused('The character "/" is not allowed in a name; give no URL.')
  const name = ascii.toLowerCase().replace(/\\(\d{3})/g, (_, octet: string) => OCTET_TEXT[Number(octet)]!)
  const octets = octetsIn(name)
  if (octets > MAX_LABEL) return refused(`A label has 1 to ${MAX_LABEL} octets; "${name}" has ${octets}.`)
  return { ok: true, name }
}

// domainToASCII reads a whole host: alone, `１` would become an IPv4 address and `%41` be decoded.
function aLabel(label: string): string | undefined {
  if (/[^\w*\u0080-\u{10ffff}-]/u.test(label)) return undefined
  const ascii = domainToASCII(`${label}.x`)
  return /^[a-z0-9_*-]+\.x$/.test(ascii) ? ascii.slice(0, -2) : undefined
}

function labelOctets(label: string): number[] {
  const octets: number[] = []
  for (let at = 0; at < label.length; at++) {
    if (label[at] === '\\') {
      octets.push(Number(label.slice(at + 1, at + 4)))
      at += 3
    } else octets.push(label.charCodeAt(at))
  }
  return octets
}

function octetsIn(label: string): number {
  return label.replace(/\\\d{3}/g, '.').length
}

function isAscii(text: string): boolean {
  return !/[\u0080-\uffff]/.test(text)
}

function refused(reason: string): ParsedName {
  return { ok: false, reason }
}
