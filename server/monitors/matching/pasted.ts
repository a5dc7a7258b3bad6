import { utf8Text } from '../../dns/rdata.ts'

/**
 * The text of a TXT expectation: the quoted strings of a zone file are joined and their escapes read (RFC 1035 section 5.1);
 * anything else is the text itself, blanks included.
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

/** The octets of a quoted string's inside: `\DDD` is one octet, any other character after a backslash is itself. */
export function unescaped(inside: string): Buffer {
  const parts = inside.match(/\\(?:[01]\d\d|2[0-4]\d|25[0-5])|\\.|[^\\]+/gsu) ?? []
  return Buffer.concat(
    parts.map((part) => {
      if (!part.startsWith('\\')) return Buffer.from(part)
      return /^\\\d{3}$/.test(part) ? Buffer.from([Number(part.slice(1))]) : Buffer.from(part.slice(1))
    }),
  )
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
