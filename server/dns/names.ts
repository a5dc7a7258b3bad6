import { domainToASCII } from 'node:url'
import { type FieldError, fieldError } from '#contract/field-errors.ts'

/** `name` is canonical: lower case, A-labels, no trailing dot, the root as the empty string. */
export type ParsedName = { ok: true; name: string } | { ok: false; reason: FieldError }

/** In octets. 255 octets on the wire are 253 characters of text. RFC 1035 section 2.3.4. */
export const MAX_LABEL = 63
const MAX_NAME = 253

export const DOT = 0x2e
export const BACKSLASH = 0x5c

// Other octets must be written \DDD, so that a pasted URL or mail address is refused instead of queried.
const PLAIN = /^[a-z0-9_*/+=~!#&'-]$/

/** The canonical text of each octet in a label: ASCII letters in lower case (RFC 4343), unusual octets as `\DDD`. */
export const OCTET_TEXT: readonly string[] = Array.from({ length: 256 }, (_, octet) => {
  const character = String.fromCharCode(octet).toLowerCase()
  return octet < 128 && PLAIN.test(character) ? character : `\\${String(octet).padStart(3, '0')}`
})

/**
 * Parses a name as people write it: Unicode becomes A-labels, letters become lower case, one trailing dot is removed.
 * Any octet may be written `\DDD`. A slash is allowed only below `arpa` (RFC 2317).
 */
export function parseDomainName(text: string): ParsedName {
  const dotted = text.replace(/[\u3002\uff0e\uff61]/g, '.')
  if (dotted === '.') return { ok: true, name: '' }
  if (text === '') return refused(fieldError('empty_name'))
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return refused(fieldError('url_as_name'))
  if (text.length > 4 * MAX_NAME) return refused(fieldError('name_too_long', { max: MAX_NAME, length: text.length }))
  const underArpa = /\.arpa\.?$/i.test(dotted)
  const labels: string[] = []
  let octets = 0
  for (const label of dotted.replace(/\.$/, '').split('.')) {
    const parsed = parseLabel(label, underArpa)
    if (!parsed.ok) return parsed
    labels.push(parsed.name)
    octets += octetsIn(parsed.name) + 1
  }
  if (octets - 1 > MAX_NAME) return refused(fieldError('name_too_long', { max: MAX_NAME, length: octets - 1 }))
  return { ok: true, name: labels.join('.') }
}

/** Whether the last label is a number, as in an address. No top-level domain is a number. RFC 3696 section 2. */
export function endsInNumber(name: string): boolean {
  return /(?:^|\.)\d+$/.test(name)
}

/** Whether a canonical name is the zone's apex or below it. */
export function isSubdomain(name: string, zone: string): boolean {
  return zone === '' || name === zone || name.endsWith(`.${zone}`)
}

/** Octets of a canonical name on the wire. RFC 1035 section 3.1. */
export function wireLength(name: string): number {
  return octetsIn(name) + (name === '' ? 1 : 2)
}

/** Writes a canonical name at `from` and returns the offset after it. Throws if the name is not canonical: a bug in the caller. */
export function writeName(packet: Buffer, from: number, name: string): number {
  if (name === '') return packet.writeUInt8(0, from)
  let labelAt = from // the offset of the label's length
  let at = from + 1
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index)
    if (code === DOT) {
      packet[labelAt] = labelLength(at - labelAt - 1, name)
      labelAt = at++
    } else if (code === BACKSLASH) {
      packet[at++] = Number(name.slice(index + 1, index + 4))
      index += 3
    } else packet[at++] = code
  }
  packet[labelAt] = labelLength(at - labelAt - 1, name)
  if (at - from > MAX_NAME + 1) throw notAName(name)
  return packet.writeUInt8(0, at)
}

/** A canonical name on the wire. */
export function nameToWire(name: string): Buffer {
  const octets = Buffer.alloc(wireLength(name))
  writeName(octets, 0, name)
  return octets
}

function parseLabel(label: string, underArpa: boolean): ParsedName {
  if (label === '') return refused(fieldError('empty_label'))
  const ascii = isAscii(label) ? label : toALabel(label)
  if (ascii === undefined) return refused(fieldError('invalid_international_name', { label }))
  const wrong = ascii.replace(/\\(?:[01]\d\d|2[0-4]\d|25[0-5])/g, '').match(/[^a-z0-9_*/+=~!#&'-]/i)
  if (wrong) return refused(fieldError('invalid_character', { character: wrong[0] }))
  if (ascii.includes('/') && !underArpa) return refused(fieldError('slash_in_name'))
  const name = ascii.toLowerCase().replace(/\\(\d{3})/g, (_, octet: string) => OCTET_TEXT[Number(octet)]!)
  const octets = octetsIn(name)
  if (octets > MAX_LABEL) return refused(fieldError('label_too_long', { label: name, max: MAX_LABEL, length: octets }))
  return { ok: true, name }
}

// domainToASCII parses a host: alone, `１` would become an IPv4 address, and `%41` would be decoded.
function toALabel(label: string): string | undefined {
  if (/[^\w*\u0080-\u{10ffff}-]/u.test(label)) return undefined
  const ascii = domainToASCII(`${label}.x`)
  return /^[a-z0-9_*-]+\.x$/.test(ascii) ? ascii.slice(0, -2) : undefined
}

function labelLength(octets: number, name: string): number {
  if (octets === 0 || octets > MAX_LABEL) throw notAName(name)
  return octets
}

function notAName(text: string): Error {
  return new Error(`Not a name: ${text.slice(0, 300)}`)
}

function octetsIn(text: string): number {
  return text.includes('\\') ? text.replace(/\\\d{3}/g, '.').length : text.length
}

function isAscii(text: string): boolean {
  return !/[\u0080-\uffff]/.test(text)
}

function refused(reason: FieldError): ParsedName {
  return { ok: false, reason }
}
