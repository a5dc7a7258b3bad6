import { extendedErrorName } from './extended-errors.ts'
import { codePointText, visible } from './visible-text.ts'

// How reasons show DNS data in sentences.

/** How much of DNS data a text shows: entries of a list, and characters of each. */
const MAX_VALUES = 5
export const MAX_NAME_SERVERS = 4
const MAX_CHARACTERS = 120

const QUOTES = /["\u201c-\u201f]/g
// Spaces other than U+0020, and characters without a shape.
const INVISIBLE = /[\p{Cc}\p{Cf}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/gu

const withoutHidden = (text: string) =>
  text
    .replace(INVISIBLE, ' ')
    .replace(/["\u201c-\u201f\\]/g, '')
    .replace(/\s+/g, ' ')
    .trim()

/** `count`: the number of all values, if the list was shortened. */
export function listed(values: readonly string[], count = values.length, max = MAX_VALUES): string {
  const texts = values.slice(0, max).map(inSentence)
  if (count > texts.length) return `${texts.join(', ')} and ${count - texts.length} more`
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`
}

export function pathOf(chain: readonly string[]): string {
  return chain.length > 5 ? `${chain.slice(0, 5).join(' → ')} → …` : chain.join(' → ')
}

type FailureParams = { rcode: string; extended_errors: readonly { code: number; text: string }[] }

/** The response code and the extended errors: "SERVFAIL, Signature Expired (EDE 7): expired on May 1". */
export function errorCodes({ rcode, extended_errors }: FailureParams): string {
  const errors = extended_errors.slice(0, 3)
  return [
    rcode,
    ...errors.map(({ code, text }) => `${extendedErrorName(code)}${text === '' ? '' : `: ${plain(text)}`}`),
  ].join(', ')
}

/** The text of a server, shortened, with hidden characters shown and without the final full stop. */
export function plain(text: string): string {
  let sentence = bounded(text)
  while (sentence.endsWith('.')) sentence = sentence.slice(0, -1)
  return sentence
}

// Quotes separate a value with spaces from the rest of the sentence.
function inSentence(value: string): string {
  const text = bounded(value)
  const isDelimited = text.endsWith('"') && !text.startsWith('"')
  return text === '' || (/\s/.test(text) && !isDelimited) ? `"${text}"` : text
}

function bounded(text: string): string {
  const characters = Array.from(visible(text))
  return characters.length > MAX_CHARACTERS ? `${characters.slice(0, MAX_CHARACTERS).join('')}…` : characters.join('')
}

/** A sentence if a record equals an expected value except for quotation marks or characters that a reader cannot see. */
export function hiddenDifference(missing: readonly string[], observed: readonly string[]): string {
  for (const expected of missing) {
    const record = observed.find((value) => value !== expected && withoutHidden(value) === withoutHidden(expected))
    if (record === undefined) continue
    const invisible = [...`${record}${expected}`.matchAll(INVISIBLE)].map(([character]) => codePointText(character))
    const kinds = [...new Set(invisible)].slice(0, 3).join(', ')
    if (kinds !== '') return ` Only invisible characters differ (${kinds}).`
    const count = (text: string) => text.match(QUOTES)?.length ?? 0
    if (count(record) > count(expected))
      return ' The record contains quotation marks that are not expected. Remove them where the zone is edited.'
    return ' Only the quotation marks differ.'
  }
  return ''
}
