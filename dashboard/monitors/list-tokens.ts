import { RECORD_TYPES } from '#contract/record-types.ts'
import { STATE_WORDS } from '#contract/wording.ts'
import { type ListSearch, severalOf, withStates, withTags } from './list-query.ts'

/** What can stand before the colon in the search field, as `tag:prod`. */
export const TOKENS = {
  state: 'State, as state:mismatch',
  type: 'Record type, as type:MX',
  tag: 'Tag, as tag:prod',
  customer: 'Customer, as customer:acme',
  id: 'External id, as id:customer-300/www',
  group: 'Group, as group:shop',
} as const
type Key = keyof typeof TOKENS
const KEYS = Object.keys(TOKENS) as Key[]
const ALLOWED = KEYS.map((key) => `${key}:`).join(' ')
const STATES = Object.keys(STATE_WORDS) as (keyof typeof STATE_WORDS)[]

type Word = { text: string; start: number; isFinished: boolean }

/** Spaces within quotation marks separate no words. A word is finished by the space after it. */
function wordsOf(text: string): Word[] {
  const words: Word[] = []
  let start = 0
  let isQuoted = false
  const end = (at: number) => {
    if (at > start) words.push({ text: text.slice(start, at), start, isFinished: at < text.length })
    start = at + 1
  }
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') isQuoted = !isQuoted
    else if (!isQuoted && /\s/.test(text[at]!)) end(at)
  }
  end(text.length)
  return words
}

/** Key and value of `tag:prod`. Undefined for names, URLs and addresses, which have colons too. */
function tokenOf(word: string): { key: string; value: string } | undefined {
  const [, key, given] = /^([a-z_]+):(.*)$/is.exec(word) ?? []
  if (key === undefined || given === undefined) return undefined
  const isKnown = KEYS.some((each) => each === key.toLowerCase())
  if (!isKnown && /^\/|:|^\d+$/.test(given)) return undefined
  return { key: key.toLowerCase(), value: given.replaceAll('"', '').trim() }
}

/** What the text asks for by name: all that is no token. */
export const nameIn = (text: string): string =>
  wordsOf(text)
    .flatMap((word) => (tokenOf(word.text) ? [] : [word.text]))
    .join(' ')

export type Read = {
  /** With the filters of the tokens that were read. */
  search: ListSearch
  /** What is left in the field: names, tokens that are still being written, and wrong ones. */
  text: string
  /** What is wrong with the first wrong token, and what is allowed. */
  problem?: string
}

/** Moves tokens out of the text into the filters. `isDone`: the last word is finished too. */
export function readTokens(text: string, search: ListSearch, isDone = false): Read {
  let [next, problem]: [ListSearch, string | undefined] = [search, undefined]
  const left: string[] = []
  for (const word of wordsOf(text)) {
    const token = word.isFinished || isDone ? tokenOf(word.text) : undefined
    const read = token && applied(next, token.key, token.value)
    if (read === undefined || typeof read === 'string') {
      left.push(word.text)
      problem ??= read
    } else next = read
  }
  if (next === search) return { search, text, ...(problem === undefined ? {} : { problem }) }
  const space = left.length > 0 && /\s$/.test(text) ? ' ' : ''
  return { search: next, text: left.join(' ') + space, ...(problem === undefined ? {} : { problem }) }
}

/** The filters with this one too, or a sentence that says what is allowed. */
function applied(search: ListSearch, key: string, value: string): ListSearch | string {
  if (!KEYS.some((each) => each === key)) return `“${key}:” is not a filter. Use one of: ${ALLOWED}`
  if (value === '') return `Write a value after “${key}:”, without a space.`
  if (key === 'state') {
    const asked = partsOf(value).map((part) => part.toUpperCase().replaceAll('-', '_'))
    const wrong = asked.find((each) => !STATES.some((state) => state === each))
    if (wrong !== undefined) return `“${wrong.toLowerCase()}” is not a state. Use one of: ${lowerCased(STATES)}`
    return withStates(search, [...severalOf(search.state), ...asked])
  }
  if (key === 'type') {
    const type = RECORD_TYPES.find((each) => each === value.toUpperCase())
    return type ? { ...search, type } : `“${value}” is not a record type. Use one of: ${RECORD_TYPES.join(', ')}`
  }
  if (key === 'tag') return withTags(search, [...severalOf(search.tag), ...partsOf(value)])
  return { ...search, [key]: value }
}

const partsOf = (value: string) => value.split(',').filter((part) => part !== '')
const lowerCased = (values: readonly string[]) => values.map((value) => value.toLowerCase()).join(', ')

/** How the text can go on: `text` is the whole field then. A key first, then the values that are known. */
export type Completion = { text: string; label: string; hint: string }

export function completionsOf(text: string): Completion[] {
  const last = wordsOf(text).at(-1)
  if (!last) return keysFrom(text.trimStart(), '')
  if (last.isFinished) return []
  const head = text.slice(0, last.start)
  const token = tokenOf(last.text)
  if (!token) return keysFrom(head, last.text)
  const whole = (value: string, hint: string) => ({ text: `${head}${token.key}:${value} `, label: value, hint })
  if (token.key === 'state') {
    const asked = token.value.split(',')
    const begun = asked.pop()!.toLowerCase()
    const before = asked.map((part) => `${part},`).join('')
    const fitting = STATES.filter((state) => state.toLowerCase().startsWith(begun))
    return fitting.map((state) => ({
      ...whole(before + state.toLowerCase(), STATE_WORDS[state]),
      label: state.toLowerCase(),
    }))
  }
  if (token.key !== 'type') return []
  return RECORD_TYPES.filter((type) => type.startsWith(token.value.toUpperCase())).map((type) => whole(type, ''))
}

const keysFrom = (head: string, begun: string): Completion[] =>
  KEYS.filter((key) => key.startsWith(begun.toLowerCase())).map((key) => ({
    text: `${head}${key}:`,
    label: `${key}:`,
    hint: TOKENS[key],
  }))
