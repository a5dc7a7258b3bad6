import { METADATA_PREFIX } from '#contract/labels.ts'
import { RECORD_TYPES } from '#contract/record-types.ts'
import { STATE_LABELS } from '#contract/wording.ts'
import { type ListSearch, severalOf, withStates, withTags } from './list-query.ts'

/** What can stand before the colon in the search field, as `tag:prod`. */
const TOKENS = {
  state: 'State, as state:mismatch',
  type: 'Record type, as type:MX',
  value: 'Expected value, as value:192.0.2.1',
  tag: 'Tag, as tag:prod',
  customer: 'Customer, as customer:acme',
  group: 'Group, as group:shop',
  external_id: 'External id, as external_id:customer-300/www',
  'metadata.': 'Metadata, as metadata.plan:business',
}
const KEYS = Object.keys(TOKENS) as (keyof typeof TOKENS)[]
/** A key of metadata is written behind the dot. */
const asWritten = (key: string) => (key === METADATA_PREFIX ? key : `${key}:`)
const ALLOWED = KEYS.map((key) => (key === METADATA_PREFIX ? `${key}key:` : asWritten(key))).join(' ')
/** What is short for it. */
const SHORT: Record<string, string> = { id: 'external_id' }
const MOST_SHORT_VALUE = 2
const STATES = Object.keys(STATE_LABELS) as (keyof typeof STATE_LABELS)[]

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
  const [, before, given] = /^(metadata\.[\w.-]{1,40}|[a-z_]+):(.*)$/is.exec(word) ?? []
  if (before === undefined || given === undefined) return undefined
  const key = lowerCasedKey(before)
  if (!isKnown(key) && /^\/|:|^\d+$/.test(given)) return undefined
  return { key, value: given.replaceAll('"', '').trim() }
}

/** Letter case matters in a key of metadata. */
function lowerCasedKey(key: string): string {
  const of = key.slice(METADATA_PREFIX.length)
  if (key.toLowerCase().startsWith(METADATA_PREFIX)) return METADATA_PREFIX + of
  return SHORT[key.toLowerCase()] ?? key.toLowerCase()
}

const isMetadata = (key: string): key is `${typeof METADATA_PREFIX}${string}` => key.startsWith(METADATA_PREFIX)
const isKnown = (key: string) => isMetadata(key) || KEYS.some((each) => each === key)

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
  if (!isKnown(key)) return `“${key}:” is not a filter. Use one of: ${ALLOWED}`
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
  if (key === 'value' && value.length <= MOST_SHORT_VALUE) return 'Write at least 3 characters after “value:”.'
  return { ...search, [key === 'external_id' ? 'id' : key]: value }
}

const partsOf = (value: string) => value.split(',').filter((part) => part !== '')
const lowerCased = (values: readonly string[]) => values.map((value) => value.toLowerCase()).join(', ')

/** How the text can go on: `text` is the whole field then. A key first, then the values that are known. */
export type Completion = { text: string; label: string; hint: string }

/** What exists of it: labels as `labelsAsked` asks for them, groups as `groupsAsked` does, and monitors as `monitorsAsked` does. */
export type Known = {
  labels: readonly string[]
  groups: readonly { slug: string; name: string; external_id?: string | null }[]
  monitors: readonly { expected_value: readonly string[]; external_id?: string | null }[]
}
const NOTHING: Known = { labels: [], groups: [], monitors: [] }

export function completionsOf(text: string, { labels, groups, monitors }: Known = NOTHING): Completion[] {
  const last = wordsOf(text).at(-1)
  if (!last) return keysFrom(text.trimStart(), '')
  if (last.isFinished) return []
  const head = text.slice(0, last.start)
  const token = tokenOf(last.text)
  if (!token) {
    if (!isMetadata(last.text)) return keysFrom(head, last.text)
    const keys = labels.map((key) => `${METADATA_PREFIX}${key}:`).filter((key) => key.startsWith(last.text))
    return keys.map((key) => ({ text: head + key, label: key, hint: 'Metadata' }))
  }
  const { key, value } = token
  const [before, begun] = lastPart(value)
  const whole = (part: string, hint = '', all = part) => ({
    text: `${head}${key}:${/\s/.test(all) ? `"${all}"` : all} `,
    label: part,
    hint,
  })
  if (key === 'state') {
    const fitting = STATES.filter((state) => state.toLowerCase().startsWith(begun.toLowerCase()))
    return fitting.map((state) => whole(state.toLowerCase(), STATE_LABELS[state], before + state.toLowerCase()))
  }
  if (key === 'type')
    return RECORD_TYPES.filter((type) => type.startsWith(value.toUpperCase())).map((type) => whole(type))
  if (key === 'group') {
    const written = value.toLowerCase()
    const fitting = groups.filter(({ slug, name }) => slug.includes(written) || name.toLowerCase().includes(written))
    return fitting.map(({ slug, name }) => whole(slug, name === slug ? '' : name))
  }
  if (key === 'tag') return labels.filter((tag) => tag.startsWith(begun)).map((tag) => whole(tag, '', before + tag))
  const contains = (known: string) => known.toLowerCase().includes(value.toLowerCase())
  const others = [
    ...(isMetadata(key) || key === 'customer' ? labels.filter((label) => label.startsWith(value)) : []),
    ...(key === 'value' ? monitors.flatMap(({ expected_value }) => expected_value.filter(contains)) : []),
    ...(key === 'external_id' ? monitors.flatMap(({ external_id }) => external_id ?? []).filter(contains) : []),
  ]
  // One with quotation marks cannot be written here.
  const written = new Map(others.filter((each) => !each.includes('"')).map((each) => [each, whole(each)]))
  if (key === 'customer') {
    for (const { name, external_id } of groups) {
      if (external_id && contains(external_id)) written.set(external_id, whole(external_id, name))
    }
  }
  return [...written.values()].slice(0, MOST)
}

const MOST = 20

/** Those of several that are finished, with their commas, and the one that is being written. */
function lastPart(value: string): [before: string, begun: string] {
  const end = value.lastIndexOf(',') + 1
  return [value.slice(0, end), value.slice(end)]
}

/** What the server is asked for, to complete the last word with labels. */
export function labelsAsked(text: string): { of: string; begin: string } | undefined {
  const last = wordsOf(text).at(-1)
  if (!last || last.isFinished) return undefined
  const token = tokenOf(last.text)
  if (!token) {
    return isMetadata(last.text) ? { of: 'metadata', begin: last.text.slice(METADATA_PREFIX.length) } : undefined
  }
  if (token.key === 'tag') return { of: 'tag', begin: lastPart(token.value)[1] }
  const of = token.key === 'customer' ? `${METADATA_PREFIX}customer` : token.key
  return isMetadata(of) ? { of, begin: token.value } : undefined
}

/** What is written of a group, or of a customer, which can be one; undefined where none is. */
export function groupsAsked(text: string): string | undefined {
  const token = tokenBegun(text)
  return token?.key === 'group' || token?.key === 'customer' ? token.value : undefined
}

/** The filter that finds monitors with what is written of an expected value or an external id; undefined where it is too short. */
export function monitorsAsked(text: string): { value: string } | { search: string } | undefined {
  const { key, value = '' } = tokenBegun(text) ?? {}
  if (value.length <= MOST_SHORT_VALUE) return undefined
  return key === 'value' ? { value } : key === 'external_id' ? { search: value } : undefined
}

function tokenBegun(text: string) {
  const last = wordsOf(text).at(-1)
  return last && !last.isFinished ? tokenOf(last.text) : undefined
}

const keysFrom = (head: string, begun: string): Completion[] =>
  KEYS.filter((key) => key.startsWith(begun.toLowerCase())).map((key) => ({
    text: head + asWritten(key),
    label: asWritten(key),
    hint: TOKENS[key],
  }))
