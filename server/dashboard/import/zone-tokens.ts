/** `raw`: as it stands in the file, escapes and all; of a quoted string what is inside its quotes. */
export type Token = { raw: string; isQuoted: boolean }

/** One entry of a zone file, over as many lines as its parentheses span. */
export type Entry = {
  /** Counted from 1. */
  line: number
  /** It begins with a blank: the owner is that of the entry before. */
  isIndented: boolean
  tokens: Token[]
  /** Why it cannot be read. */
  wrong?: string
}

// A blank, the end of a line, a comment, a parenthesis, a quoted string on one line, other text, and what none of them is.
const PART = /([^\S\n]+)|(\n)|(;[^\n]*)|([()])|"((?:[^"\\\n]|\\[^\n])*)"|((?:[^\s;()"\\]|\\[^\n])+)|(["\\])/g

/** RFC 1035 section 5.1. Never throws: what cannot be read is an entry that says why. */
export function* zoneEntries(text: string): Generator<Entry> {
  let line = 1
  let depth = 0
  let entry: Entry | undefined
  let isLineStart = true
  let isIndented = false
  for (const [part, blank, end, comment, parenthesis, quoted, plain] of text.replace(/^\ufeff/, '').matchAll(PART)) {
    if (end !== undefined) {
      line++
      if (depth > 0 && entry && entry.wrong === undefined) continue
      if (entry) yield entry
      entry = undefined
      depth = 0
      isLineStart = true
      isIndented = false
      continue
    }
    if (blank !== undefined) {
      if (isLineStart) isIndented = true
    } else if (comment === undefined) {
      entry ??= { line, isIndented, tokens: [] }
      if (parenthesis === '(') depth++
      else if (parenthesis === ')') depth--
      else if (quoted !== undefined) entry.tokens.push({ raw: quoted, isQuoted: true })
      else if (plain !== undefined) entry.tokens.push({ raw: plain, isQuoted: false })
      else
        entry.wrong ??= part === '"' ? 'A quote is not closed on its line.' : 'A backslash stands at the end of a line.'
      if (depth < 0) entry.wrong ??= 'A parenthesis is closed that was not opened.'
    }
    isLineStart = false
  }
  if (entry && depth > 0) entry.wrong ??= 'A parenthesis is not closed.'
  if (entry) yield entry
}
