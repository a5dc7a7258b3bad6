import { METADATA_PREFIX } from '#contract/labels.ts'
import { RECORD_TYPES } from '#contract/record-types.ts'
import { STATE_LABELS } from '#contract/wording.ts'
import { LIST_FILTERS, type ListSearch, splitList, withStates, withTags } from './query.ts'

/** The keys of the search field, as in `tag:prod`, with their hints. */
const TOKENS = new Map([
  ...LIST_FILTERS.flatMap(({ token, hint }) => (hint === undefined ? [] : [[token, hint] as const])),
  [METADATA_PREFIX, 'Metadata, for example metadata.plan:business'] as const,
])
const KEYS = [...TOKENS.keys()]
/** A metadata key follows the dot. */
const withSeparator = (key: string) => (key === METADATA_PREFIX ? key : `${key}:`)
const ALLOWED = KEYS.map((key) => (key === METADATA_PREFIX ? `${key}key:` : withSeparator(key))).join(' ')
const ALIASES: Record<string, string> = { id: 'external_id' }
const MAX_TOO_SHORT = 2
const STATES = Object.keys(STATE_LABELS) as (keyof typeof STATE_LABELS)[]

type Word = { text: string; start: number; isComplete: boolean }

/** Splits at spaces outside of quotation marks. A word is complete when a space follows. */
function wordsOf(text: string): Word[] {
  const words: Word[] = []
  let start = 0
  let isQuoted = false
  const endWord = (end: number) => {
    if (end > start) words.push({ text: text.slice(start, end), start, isComplete: end < text.length })
    start = end + 1
  }
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '"') isQuoted = !isQuoted
    else if (!isQuoted && /\s/.test(text[index]!)) endWord(index)
  }
  endWord(text.length)
  return words
}

/** Key and value of `tag:prod`. Undefined for names, URLs and addresses with colons. */
function tokenOf(word: string): { key: string; value: string } | undefined {
  const [, before, rawValue] = /^(metadata\.[\w.-]{1,40}|[a-z_]+):(.*)$/is.exec(word) ?? []
  if (before === undefined || rawValue === undefined) return undefined
  const key = normalizeKey(before)
  if (!isKnownKey(key) && /^\/|:|^\d+$/.test(rawValue)) return undefined
  return { key, value: rawValue.replaceAll('"', '').trim() }
}

/** Metadata keys are case-sensitive. */
function normalizeKey(key: string): string {
  const of = key.slice(METADATA_PREFIX.length)
  if (key.toLowerCase().startsWith(METADATA_PREFIX)) return METADATA_PREFIX + of
  return ALIASES[key.toLowerCase()] ?? key.toLowerCase()
}

const isMetadata = (key: string): key is `${typeof METADATA_PREFIX}${string}` => key.startsWith(METADATA_PREFIX)
const isKnownKey = (key: string) => isMetadata(key) || KEYS.some((each) => each === key)

/** The text without its tokens. */
export const searchText = (text: string): string =>
  wordsOf(text)
    .flatMap((word) => (tokenOf(word.text) ? [] : [word.text]))
    .join(' ')

export type ParsedTokens = {
  /** The filters, with those of the tokens. */
  search: ListSearch
  /** The text left in the field: search text, incomplete tokens and invalid ones. */
  text: string
  /** The error of the first invalid token. */
  problem?: string
}

/** Moves complete tokens from the text into the filters. `isSubmit`: the last word is complete too. */
export function readTokens(text: string, search: ListSearch, isSubmit = false): ParsedTokens {
  let [next, problem]: [ListSearch, string | undefined] = [search, undefined]
  const left: string[] = []
  for (const word of wordsOf(text)) {
    const token = word.isComplete || isSubmit ? tokenOf(word.text) : undefined
    const read = token && applyToken(next, token.key, token.value)
    if (read === undefined || typeof read === 'string') {
      left.push(word.text)
      problem ??= read
    } else next = read
  }
  if (next === search) return { search, text, ...(problem === undefined ? {} : { problem }) }
  const space = left.length > 0 && /\s$/.test(text) ? ' ' : ''
  return { search: next, text: left.join(' ') + space, ...(problem === undefined ? {} : { problem }) }
}

/** The filters including this one, or an error message. */
function applyToken(search: ListSearch, key: string, value: string): ListSearch | string {
  if (!isKnownKey(key)) return `“${key}:” is not a filter. Use one of: ${ALLOWED}`
  if (value === '') return `Enter a value after “${key}:”, without a space.`
  if (key === 'state') {
    const states = splitValues(value).map((part) => part.toUpperCase().replaceAll('-', '_'))
    const wrong = states.find((each) => !STATES.some((state) => state === each))
    if (wrong !== undefined) return `“${wrong.toLowerCase()}” is not a state. Use one of: ${lowerCaseList(STATES)}`
    return withStates(search, [...splitList(search.state), ...states])
  }
  if (key === 'type') {
    const type = RECORD_TYPES.find((each) => each === value.toUpperCase())
    return type ? { ...search, type } : `“${value}” is not a record type. Use one of: ${RECORD_TYPES.join(', ')}`
  }
  if (key === 'tag') return withTags(search, [...splitList(search.tag), ...splitValues(value)])
  if (key === 'value' && value.length <= MAX_TOO_SHORT) return 'Enter at least 3 characters after “value:”.'
  return { ...search, [LIST_FILTERS.find(({ token }) => token === key)?.name ?? key]: value }
}

const splitValues = (value: string) => value.split(',').filter((part) => part !== '')
const lowerCaseList = (values: readonly string[]) => values.map((value) => value.toLowerCase()).join(', ')

/** A suggestion for a key or a value. `text` is the completion text of the field after it. */
export type Completion = { text: string; label: string; hint: string }

/** What the organization has, as found by labelQueryFor, groupQueryFor and monitorQueryFor. */
export type Suggestions = {
  labels: readonly string[]
  groups: readonly { slug: string; name: string; external_id?: string | null }[]
  monitors: readonly { expected_value: readonly string[]; external_id?: string | null }[]
}
const NO_SELECTION: Suggestions = { labels: [], groups: [], monitors: [] }

export function completionsFor(text: string, { labels, groups, monitors }: Suggestions = NO_SELECTION): Completion[] {
  const last = wordsOf(text).at(-1)
  if (!last) return keyCompletions(text.trimStart(), '')
  if (last.isComplete) return []
  const head = text.slice(0, last.start)
  const token = tokenOf(last.text)
  if (!token) {
    if (!isMetadata(last.text)) return keyCompletions(head, last.text)
    const keys = labels.map((key) => `${METADATA_PREFIX}${key}:`).filter((key) => key.startsWith(last.text))
    return keys.map((key) => ({ text: head + key, label: key, hint: 'Metadata' }))
  }
  const { key, value } = token
  const [before, prefix] = lastPart(value)
  const completion = (part: string, hint = '', all = part) => ({
    text: `${head}${key}:${/\s/.test(all) ? `"${all}"` : all} `,
    label: part,
    hint,
  })
  if (key === 'state') {
    const matching = STATES.filter((state) => state.toLowerCase().startsWith(prefix.toLowerCase()))
    return matching.map((state) => completion(state.toLowerCase(), STATE_LABELS[state], before + state.toLowerCase()))
  }
  if (key === 'type')
    return RECORD_TYPES.filter((type) => type.startsWith(value.toUpperCase())).map((type) => completion(type))
  if (key === 'group') {
    const typed = value.toLowerCase()
    const matching = groups.filter(({ slug, name }) => slug.includes(typed) || name.toLowerCase().includes(typed))
    return matching.map(({ slug, name }) => completion(slug, name === slug ? '' : name))
  }
  if (key === 'tag')
    return labels.filter((tag) => tag.startsWith(prefix)).map((tag) => completion(tag, '', before + tag))
  const contains = (known: string) => known.toLowerCase().includes(value.toLowerCase())
  const others = [
    ...(isMetadata(key) || key === 'customer' ? labels.filter((label) => label.startsWith(value)) : []),
    ...(key === 'value' ? monitors.flatMap(({ expected_value }) => expected_value.filter(contains)) : []),
    ...(key === 'external_id' ? monitors.flatMap(({ external_id }) => external_id ?? []).filter(contains) : []),
  ]
  // Values with quotation marks cannot be quoted.
  const typed = new Map(others.filter((each) => !each.includes('"')).map((each) => [each, completion(each)]))
  if (key === 'customer') {
    for (const { name, external_id } of groups) {
      if (external_id && contains(external_id)) typed.set(external_id, completion(external_id, name))
    }
  }
  return [...typed.values()].slice(0, MOST)
}

const MOST = 20

/** Splits a comma-separated list into its complete values and the one being typed. */
function lastPart(value: string): [before: string, prefix: string] {
  const end = value.lastIndexOf(',') + 1
  return [value.slice(0, end), value.slice(end)]
}

/** The query for labels that complete the last word. */
export function labelQueryFor(text: string): { of: string; begin: string } | undefined {
  const last = wordsOf(text).at(-1)
  if (!last || last.isComplete) return undefined
  const token = tokenOf(last.text)
  if (!token) {
    return isMetadata(last.text) ? { of: 'metadata', begin: last.text.slice(METADATA_PREFIX.length) } : undefined
  }
  if (token.key === 'tag') return { of: 'tag', begin: lastPart(token.value)[1] }
  const of = token.key === 'customer' ? `${METADATA_PREFIX}customer` : token.key
  return isMetadata(of) ? { of, begin: token.value } : undefined
}

/** The text of an incomplete group or customer token. A customer can be a group. */
export function groupQueryFor(text: string): string | undefined {
  const token = incompleteToken(text)
  return token?.key === 'group' || token?.key === 'customer' ? token.value : undefined
}

/** The filter for an incomplete value or external id token; undefined if it is too short. */
export function monitorQueryFor(text: string): { value: string } | { search: string } | undefined {
  const { key, value = '' } = incompleteToken(text) ?? {}
  if (value.length <= MAX_TOO_SHORT) return undefined
  return key === 'value' ? { value } : key === 'external_id' ? { search: value } : undefined
}

function incompleteToken(text: string) {
  const last = wordsOf(text).at(-1)
  return last && !last.isComplete ? tokenOf(last.text) : undefined
}

const keyCompletions = (head: string, prefix: string): Completion[] =>
  KEYS.filter((key) => key.startsWith(prefix.toLowerCase())).map((key) => ({
    text: head + withSeparator(key),
    label: withSeparator(key),
    hint: TOKENS.get(key) ?? '',
  }))
