import { isUtf8 } from 'node:buffer'

// The presentation format of rdata in zone files. RFC 1035 section 5.1.

/** `raw`: the text with its escapes, without the quotes. `isGlued`: no space before it, as in `key="value"`. */
export type Token = { raw: string; isQuoted: boolean; isGlued?: boolean }

// Spaces and parentheses; a quoted string and its closing quote; other text.
const PART = /([\s()]+)|"((?:[^"\\]|\\.)*)("?)|((?:[^\s()"\\]|\\.)+)|\\/gsu

/** Ignores parentheses, which join lines. Undefined if a quote is not closed. */
export function tokenize(text: string): Token[] | undefined {
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

export function formatToken({ raw, isQuoted }: Token): string {
  return isQuoted ? `"${raw}"` : raw
}

/** The octets of a text with escapes: `\DDD` is one octet; any other character after a backslash is itself. */
export function unescapeOctets(raw: string): Buffer {
  const parts = raw.match(/\\(?:[01]\d\d|2[0-4]\d|25[0-5])|\\.|[^\\]+/gsu) ?? []
  return Buffer.concat(
    parts.map((part) => {
      if (!part.startsWith('\\')) return Buffer.from(part)
      return /^\\\d{3}$/.test(part) ? Buffer.from([Number(part.slice(1))]) : Buffer.from(part.slice(1))
    }),
  )
}

/** A name with `\DDD` as its only escape. */
export function escapeAsOctets(name: string): string {
  return name.replace(/\\(?:\d{3}|.)/gsu, (sequence) => {
    const escaped = sequence.slice(1)
    if (escaped.length === 3) return sequence
    if (/^[a-z0-9_-]$/i.test(escaped)) return escaped
    return Array.from(Buffer.from(escaped), octetText).join('')
  })
}

/** Octets as quoted ASCII text: the inverse of `unescapeOctets`. */
export function quoteOctets(octets: Buffer): string {
  return `"${Array.from(octets, escapedOctet).join('')}"`
}

/** A canonical host name with a final dot, as in zone files. */
export const absoluteHost = (host: string): string => (host.endsWith('.') ? host : `${host}.`)

/** A text as quoted strings of at most 255 octets each. */
export function toQuotedStrings(text: string): string {
  const octets = Buffer.from(text)
  const count = Math.max(1, Math.ceil(octets.length / 255))
  return Array.from({ length: count }, (_, index) => quoteOctets(octets.subarray(index * 255, (index + 1) * 255))).join(
    ' ',
  )
}

/** Octets as text, with `\DDD` for octets that are not UTF-8 and for NUL, which databases do not store in texts. */
export function decodeUtf8(text: Buffer): string {
  if (isUtf8(text) && !text.includes(0)) return text.toString('utf8')
  const parts: string[] = []
  for (let offset = 0; offset < text.length; ) {
    const length = utf8Length(text, offset)
    parts.push(length === 0 ? octetText(text[offset]!) : text.toString('utf8', offset, offset + length))
    offset += length || 1
  }
  return parts.join('')
}

/**
 * The text of an expected TXT value: quoted strings are joined and unescaped, also inside a whole record line and between the
 * parentheses that opendkim-genkey writes; anything else is the text itself, with its spaces, without line breaks at its end.
 */
export function parsePastedText(text: string): string {
  const strings = quotedStrings(text)
  return decodeUtf8(
    strings === undefined ? Buffer.from(withoutFinalBreaks(text)) : Buffer.concat(strings.map(unescapeOctets)),
  )
}

/** The inverse of `parsePastedText`: the text, in quotes only if it would be parsed as another text. */
export function quoteIfNeeded(text: string): string {
  if (text.trim() !== '' && withoutFinalBreaks(text) === text && quotedStrings(text) === undefined) return text
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** The value without typographic quotation marks around it, which word processors write instead of `"`. */
export function straightenQuotes(text: string): string {
  return text.replace(/^(\s*)[\u201c\u201d\u201e\u201f](.*)[\u201c\u201d](\s*)$/su, '$1"$2"$3')
}

// Not by a regular expression, which takes quadratic time for breaks in the middle.
function withoutFinalBreaks(text: string): string {
  let end = text.length
  while (text[end - 1] === '\n' || text[end - 1] === '\r') end--
  return text.slice(0, end)
}

// The owner name, TTL, class and type of a record line, before its first string. RFC 1035 section 5.1.
const RECORD_HEAD = /^(?:[^\s"();]+\s+)?(?:\d+\s+)?(?:IN\s+)?(?:\d+\s+)?TXT\s*(?=[("])/i

/** A line of a zone file whose text has no quotation marks, so that its spaces would separate strings. */
export function isUnquotedRecordLine(text: string): boolean {
  return /^[^\s"();=]+\s+(?:\d+\s+)?IN\s+(?:\d+\s+)?TXT\s+\S/i.test(text.trim()) && quotedStrings(text) === undefined
}

/** Without the comments after the last string or parenthesis of each line. A comment has no quotation mark. */
function withoutComments(data: string): string {
  const lines = data.split('\n').map((line) => {
    const end = Math.max(0, line.lastIndexOf('"'))
    const comment = /["()]\s*;/.exec(line.slice(end))
    return comment ? line.slice(0, end + comment.index + comment[0].length - 1) : line
  })
  return lines.join('\n')
}

// Spaces, the content of a string and its closing quote. Sticky, so that its cost is linear.
const STRING = /\s*"((?:[^"\\]|\\.)*)("?)/suy

/** The contents of one or more quoted strings, as in dig and zone files. Undefined for other text. */
function quotedStrings(text: string): string[] | undefined {
  const data = straightenQuotes(text.trim().replace(RECORD_HEAD, ''))
  return stringsOf(data) ?? stringsOf(withoutComments(data).trim()) ?? stringsOf(withOuterQuotes(data))
}

/** Chunks that were copied without the first and the last quotation mark: `AAAA" "BBBB`. */
function withOuterQuotes(data: string): string {
  return /^[^"\s][^"]*"\s+"/.test(data) && /"\s+"[^"]*[^"\s]$/.test(data) ? `"${data}"` : ''
}

function stringsOf(data: string): string[] | undefined {
  const isEnclosed = data.startsWith('(') && data.endsWith(')')
  const list = isEnclosed ? data.slice(1, -1).trim() : data
  const strings: string[] = []
  STRING.lastIndex = 0
  while (STRING.lastIndex < list.length) {
    const [, content, close] = STRING.exec(list) ?? []
    if (content === undefined || close === '') return undefined
    strings.push(content)
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

/** The length of the character at the offset; 0 for NUL and if no character begins there. */
function utf8Length(text: Buffer, offset: number): number {
  const octet = text[offset]!
  if (octet < 0x80) return octet === 0 ? 0 : 1
  if (octet < 0xc2 || octet > 0xf4 || ((text[offset + 1] ?? 0) & 0xc0) !== 0x80) return 0
  const length = octet < 0xe0 ? 2 : octet < 0xf0 ? 3 : 4
  return offset + length <= text.length && isUtf8(text.subarray(offset, offset + length)) ? length : 0
}
