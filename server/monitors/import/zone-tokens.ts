import type { Token } from '../../record-types/presentation.ts'
import { yieldToEventLoop } from '../../yield.ts'

/** One entry of a zone file. With parentheses it can have several lines. */
export type Entry = {
  /** Counted from 1. */
  line: number
  /** It begins with a space, so it has the owner of the previous entry. */
  isIndented: boolean
  /** Of its first `MAX_ENTRY_LENGTH`. */
  tokens: Token[]
  /** It is longer. */
  isCut: boolean
  /** The last one. */
  comment?: string
  /** Why it is invalid. */
  error?: string
}

/** In characters, for an entry and for a line. The longest possible value has 4,000. */
export const MAX_ENTRY_LENGTH = 16_384

/** Characters between two yields to the event loop. */
const BATCH_SIZE = 2_048

// Blanks, a comment, a parenthesis, a quoted string and whether it is closed, other text, and a backslash at the end.
const PART = /([^\S\n]+)|(;.*)|([()])|"((?:[^"\\]|\\.)*)("?)|((?:[^\s;()"\\]|\\.)+)|\\/gsu

/** RFC 1035 section 5.1. Never throws: an invalid entry has an `error`. */
export async function* zoneEntries(text: string): AsyncGenerator<Entry> {
  let number = 0
  let unread = 0
  let depth = 0
  let kept = 0
  let entry: Entry | undefined
  for (const line of linesOf(withLineFeeds(text.replace(/^\ufeff/, '')))) {
    number++
    for (unread += line.length + 1; unread >= BATCH_SIZE; unread -= BATCH_SIZE) await yieldToEventLoop()
    let isCut = line.length > MAX_ENTRY_LENGTH
    let isAfterText = false
    for (const match of line.slice(0, MAX_ENTRY_LENGTH).matchAll(PART)) {
      const [part, space, comment, parenthesis, quoted, close, plain] = match
      if (comment !== undefined) {
        isCut = false
        if (entry) entry.comment = comment
      }
      const isGlued = isAfterText
      isAfterText = plain !== undefined
      if (space !== undefined || comment !== undefined) continue
      entry ??= { line: number, isIndented: /^\s/.test(line), tokens: [], isCut: false }
      kept += part.length
      if (parenthesis === '(') depth++
      else if (parenthesis === ')') depth--
      else if (kept > MAX_ENTRY_LENGTH) entry.isCut = true
      else if (quoted !== undefined && close === '"')
        entry.tokens.push({ raw: quoted, isQuoted: true, ...(isGlued && { isGlued }) })
      else if (quoted !== undefined) entry.error ??= 'A quotation mark is not closed on its line.'
      else if (plain !== undefined) entry.tokens.push({ raw: plain, isQuoted: false })
      else entry.error ??= 'A backslash is at the end of a line.'
      if (depth < 0) entry.error ??= 'A closing parenthesis has no opening one.'
    }
    if (!entry || (depth > 0 && !isCut && entry.error === undefined)) continue
    // The end of a cut line can look invalid only because it was cut.
    yield isCut ? withoutReason(entry) : entry
    entry = undefined
    depth = 0
    kept = 0
  }
  if (entry) yield { ...entry, error: 'A parenthesis is not closed.' }
}

const withoutReason = ({ error: _, ...entry }: Entry): Entry => ({ ...entry, isCut: true })

/** Some editors end lines with a carriage return only. */
export const withLineFeeds = (text: string) => (text.includes('\n') ? text : text.replaceAll('\r', '\n'))

function* linesOf(text: string): Generator<string> {
  for (let from = 0; from <= text.length; ) {
    const end = text.indexOf('\n', from)
    yield end < 0 ? text.slice(from) : text.slice(from, end)
    if (end < 0) return
    from = end + 1
  }
}
