import type { Difference } from './compare.ts'

const MAX_VALUES = 5
const MAX_CHARACTERS = 120

/** What was observed and how it differs, to stand behind "www.example.com answers". */
export function differenceSentence(observed: readonly string[], { missing, extra }: Difference): string {
  const found = listed(observed)
  if (missing.length === 0 && extra.length === 0) return `${found}, as expected`
  const wanted = missing.length > 0 ? [`${listed(missing)} ${was(missing)} expected`] : []
  // Where nothing at all is as expected, saying so once is enough.
  const isAllWrong = missing.length > 0 && extra.length === observed.length
  const unwanted = extra.length > 0 && !isAllWrong ? [`${listed(extra)} ${was(extra)} not expected`] : []
  return `${found}; ${[...wanted, ...unwanted].join(', and ')}`
}

/** Text from outside, fit to be quoted inside a sentence: of bounded length, without control characters or its own full stop. */
export function plain(text: string): string {
  let sentence = bounded(text)
  while (sentence.endsWith('.')) sentence = sentence.slice(0, -1)
  return sentence
}

function listed(values: readonly string[]): string {
  const shown = values.slice(0, MAX_VALUES).map(inSentence)
  if (values.length > MAX_VALUES) return `${shown.join(', ')} and ${values.length - MAX_VALUES} more`
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

// Quotes keep a text that holds blanks apart from the sentence around it.
function inSentence(value: string): string {
  const text = bounded(value)
  return text === '' || (/\s/.test(text) && !text.endsWith('"')) ? `"${text}"` : text
}

function bounded(text: string): string {
  const characters = Array.from(text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' '))
  return characters.length > MAX_CHARACTERS ? `${characters.slice(0, MAX_CHARACTERS).join('')}…` : characters.join('')
}

function was(values: readonly string[]): string {
  return values.length === 1 ? 'was' : 'were'
}
