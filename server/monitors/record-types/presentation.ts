import { isUtf8 } from 'node:buffer'

// How rdata is written in zone files, and pasted from them. RFC 1035 section 5.1.

/**
 * `raw`: as it is written, escapes and all; of a quoted string what is inside its quotes. `isGlued`: no space before it, as in
 * `key="value"`.
 */
export type Token = { raw: string; isQuoted: boolean; isGlued?: boolean }

// Blanks and parentheses, a quoted string and whether it is closed, and other text.
const PART = /([\s()]+)|"((?:[^"\\]|\\.)*)("?)|((?:[^\s()"\\]|\\.)+)|\\/gsu

/** The parts of an expected value; parentheses of a record over several lines are dropped. Undefined for a quote that stays open. */
export function tokensOf(text: string): Token[] | undefined {
  const tokens: Token[] = []
  let isGlued = false
  for (const [, spaces, quoted, close, plain] of text.matchAll(PART)) {
    if (spaces === undefined) {
      if (plain === undefined && close !== '"') return undefined
      const token = { raw: plain ?? quoted ?? '', isQuoted: plain === undefined }
      tokens.push(isGlued ? { ...token, isGlued } : token)
    }
    isGlued = spaces === undefined
  }
  return tokens
}

/** As it was written. */
export function writtenToken({ raw, isQuoted }: Token): string {
  return isQuoted ? `"${raw}"` : raw
}

/** The octets that a written text stands for: `\DDD` is one octet, any other character after a backslash is itself. */
export function unescaped(raw: string): Buffer {
  const parts = raw.match(/\\(?:[01]\d\d|2[0-4]\d|25[0-5])|\\.|[^\\]+/gsu) ?? []
  return Buffer.concat(
    parts.map((part) => {
      if (!part.startsWith('\\')) return Buffer.from(part)
      return /^\\\d{3}$/.test(part) ? Buffer.from([Number(part.slice(1))]) : Buffer.from(part.slice(1))
    }),
  )
}

/** A name with each escaped character as `\DDD`, the one escape that names are given with. */
export function withOctets(name: string): string {
  return name.replace(/\\(?:\d{3}|.)/gsu, (written) => {
    const inside = written.slice(1)
    if (inside.length === 3) return written
    if (/^[a-z0-9_-]$/i.test(inside)) return inside
    return Array.from(Buffer.from(inside), octetText).join('')
  })
}

/** Octets in quotes, in ASCII: the inverse of `unescaped`. */
export function quotedOctets(octets: Buffer): string {
  return `"${Array.from(octets, escapedOctet).join('')}"`
}

/** A canonical host name as zone files have it: with a dot at its end. */
export const absoluteHost = (host: string): string => (host.endsWith('.') ? host : `${host}.`)

/** A text as strings of at most 255 octets each, in quotes. */
export function quotedStringsOf(text: string): string {
  const octets = Buffer.from(text)
  const count = Math.max(1, Math.ceil(octets.length / 255))
  return Array.from({ length: count }, (_, at) => quotedOctets(octets.subarray(at * 255, (at + 1) * 255))).join(' ')
}

/** Octets as UTF-8 where they are, as `\DDD` where not; also NUL, which no database takes as text. */
export function utf8Text(text: Buffer): string {
  if (isUtf8(text) && !text.includes(0)) return text.toString('utf8')
  const parts: string[] = []
  for (let at = 0; at < text.length; ) {
    const length = utf8Length(text, at)
    parts.push(length === 0 ? octetText(text[at]!) : text.toString('utf8', at, at + length))
    at += length || 1
  }
  return parts.join('')
}

/**
 * The text of a TXT expectation: the quoted strings of a zone file are joined and their escapes read; anything else is the text
 * itself, spaces included.
 */
export function readPasted(text: string): string {
  const strings = quotedStrings(text)
  return utf8Text(strings === undefined ? Buffer.from(text) : Buffer.concat(strings.map(unescaped)))
}

/** The inverse of `readPasted`: the text itself, quoted only where it would be read as something else. */
export function writtenText(text: string): string {
  if (text.trim() !== '' && quotedStrings(text) === undefined) return text
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

// Blanks, the inside of a string and whether it is closed. It matches at one place only, so that its cost is linear.
const STRING = /\s*"((?:[^"\\]|\\.)*)("?)/suy

/** Of one or more quoted strings, as dig and zone files print them; opendkim-genkey adds parentheses. Undefined for other text. */
function quotedStrings(text: string): string[] | undefined {
  const written = text.trim()
  const isEnclosed = written.startsWith('(') && written.endsWith(')')
  const list = isEnclosed ? written.slice(1, -1).trim() : written
  const strings: string[] = []
  STRING.lastIndex = 0
  while (STRING.lastIndex < list.length) {
    const [, inside, close] = STRING.exec(list) ?? []
    if (inside === undefined || close === '') return undefined
    strings.push(inside)
  }
  return strings.length > 0 ? strings : undefined
}

function escapedOctet(octet: number): string {
  if (octet < 0x20 || octet > 0x7e) return octetText(octet)
  const character = String.fromCharCode(octet)
  return character === '"' || character === '\\' ? `\\${character}` : character
}

function octetText(octet: number): string {
  return `\\${String(octet).padStart(3, '0')}`
}

// Of the character that begins there; 0 where none does, and for NUL.
function utf8Length(text: Buffer, at: number): number {
  const octet = text[at]!
  if (octet < 0x80) return octet === 0 ? 0 : 1
  if (octet < 0xc2 || octet > 0xf4 || ((text[at + 1] ?? 0) & 0xc0) !== 0x80) return 0
  const length = octet < 0xe0 ? 2 : octet < 0xf0 ? 3 : 4
  return at + length <= text.length && isUtf8(text.subarray(at, at + length)) ? length : 0
}
