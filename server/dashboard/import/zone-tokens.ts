import type { Token } from '../../monitors/record-types/presentation.ts'
import { yieldToEventLoop } from '../../yield.ts'

/** One entry of a zone file, over as many lines as its parentheses span. */
export type Entry = {
  /** Counted from 1. */
  line: number
  /** It begins with a space: the owner is that of the entry before. */
  isIndented: boolean
  /** Of its first `MOST_CHARACTERS`. */
  tokens: Token[]
  /** It has more of them. */
  isCut: boolean
  /** Why it cannot be read. */
  wrong?: string
}

/** Characters of one entry, and of one line, that are read: the longest value that can be expected takes 4,000. */
export const MOST_CHARACTERS = 16_384

/** Characters read before the event loop is yielded. */
const SLICE = 2_048

// Blanks, a comment, a parenthesis, a quoted string and whether it is closed, other text, and a backslash at the end.
const PART = /([^\S\n]+)|(;.*)|([()])|"((?:[^"\\]|\\.)*)("?)|((?:[^\s;()"\\]|\\.)+)|\\/gsu

/** RFC 1035 section 5.1. Never throws: what cannot be read is an entry that says why. */
export async function* zoneEntries(text: string): AsyncGenerator<Entry> {
  let number = 0
  let unread = 0
  let depth = 0
  let kept = 0
  let entry: Entry | undefined
  for (const line of linesOf(text.replace(/^\ufeff/, ''))) {
    number++
    for (unread += line.length + 1; unread >= SLICE; unread -= SLICE) await yieldToEventLoop()
    let isCut = line.length > MOST_CHARACTERS
    let isAfterText = false
    for (const match of line.slice(0, MOST_CHARACTERS).matchAll(PART)) {
      const [part, space, comment, parenthesis, quoted, close, plain] = match
      if (comment !== undefined) isCut = false
      const isGlued = isAfterText
      isAfterText = plain !== undefined
      if (space !== undefined || comment !== undefined) continue
      entry ??= { line: number, isIndented: /^\s/.test(line), tokens: [], isCut: false }
      kept += part.length
      if (parenthesis === '(') depth++
      else if (parenthesis === ')') depth--
      else if (kept > MOST_CHARACTERS) entry.isCut = true
      else if (quoted !== undefined && close === '"')
        entry.tokens.push({ raw: quoted, isQuoted: true, ...(isGlued && { isGlued }) })
      else if (quoted !== undefined) entry.wrong ??= 'A quotation mark is not closed on its line.'
      else if (plain !== undefined) entry.tokens.push({ raw: plain, isQuoted: false })
      else entry.wrong ??= 'A backslash is at the end of a line.'
      if (depth < 0) entry.wrong ??= 'A closing parenthesis has no opening one.'
    }
    if (!entry || (depth > 0 && !isCut && entry.wrong === undefined)) continue
    // Where the line goes on, what is wrong with its last part may be that it was cut.
    yield isCut ? withoutReason(entry) : entry
    entry = undefined
    depth = 0
    kept = 0
  }
  if (entry) yield { ...entry, wrong: 'A parenthesis is not closed.' }
}

const withoutReason = ({ wrong: _, ...entry }: Entry): Entry => ({ ...entry, isCut: true })

function* linesOf(text: string): Generator<string> {
  for (let from = 0; from <= text.length; ) {
    const end = text.indexOf('\n', from)
    yield end < 0 ? text.slice(from) : text.slice(from, end)
    if (end < 0) return
    from = end + 1
  }
}
