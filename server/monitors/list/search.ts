import { type RawBuilder, sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type { Tenant } from '../../context.ts'
import type { Database } from '../../database/database.ts'
import { indexesTrigrams } from '../../database/dialect.ts'
import { indexedTable, MAX_SORTED_ROWS } from '../../database/index-hints.ts'
import { parseDomainName } from '../../dns/names.ts'
import { asciiLowerCase, containsText } from '../../groups/labels.ts'
import { invalid } from '../../problem.ts'
import { pastedName } from '../names.ts'

/** `from` is included, `to` is not. */
type NameRange = readonly [from: string, to: string]

/** Matches monitors whose search text has every word and whose expected values have `value`. */
export type Search = {
  /** Each word in its alternative forms. */
  words: readonly (readonly string[])[]
  /** Set if no word is long enough for the index: the name is in this range. */
  names?: NameRange
  value?: string
  /** The trigrams to look up for a form of a word. Default: all of them. */
  trigrams?: ReadonlyMap<string, readonly string[]>
}

/** Sorts after every character of a stored name. */
const LAST_CHARACTER = '\u007f'
const TRIGRAM_LENGTH = 3
/** A search looks up so many trigrams, and compares the matches with the whole words. */
const MAX_TRIGRAMS = 60

/** Throws a 400 for an empty search. */
export function parseSearch(text: string): Search {
  const words = [...new Set(text.split(/\s+/).filter((word) => word !== ''))].map(formsOf)
  if (words.length === 0) throw invalid({ search: fieldError('blank_search') })
  if (words.some(isLong)) return { words }
  const [[prefix = ''] = [], ...others] = words
  return { words: others, names: [prefix, prefix + LAST_CHARACTER] }
}

export const withValue = (search: Search | undefined, value: string): Search => ({
  words: [],
  ...search,
  value: asciiLowerCase(value),
})

/** The word itself, and the name in a URL, a mail address, an IP address or an internationalized name. */
function formsOf(word: string): string[] {
  const lowerCase = asciiLowerCase(word)
  const pasted = pastedName(word)
  const name = parseDomainName(pasted)
  const isName = name.ok && name.name !== '' && name.name !== lowerCase
  if (!isName) return [lowerCase]
  // A name with a final dot is complete: in the search text a line break follows it.
  return [lowerCase, name.name + (pasted.endsWith('.') ? '\n' : '')]
}

const isLong = (forms: readonly string[]) => forms.every((form) => Array.from(form).length >= TRIGRAM_LENGTH)

/** The condition on a row of `monitors`. A scalar subquery: PostgreSQL then looks up each row instead of joining all texts. */
export function matchesSearch({ organizationId }: Tenant, search: Search): RawBuilder<boolean> {
  const { names } = search
  const terms: RawBuilder<boolean>[] = []
  if (names) {
    const [from, to] = names
    terms.push(sql`((monitors.owner >= ${from} and monitors.owner < ${to})
      or (monitors.domain >= ${from} and monitors.domain < ${to}))`)
  }
  if (hasTerms(search)) {
    terms.push(sql`(select ${contains(search)} from monitor_texts as texts
      where texts.organization_id = ${organizationId} and texts.monitor_id = monitors.id)`)
  }
  return sql.join(terms, sql` and `)
}

const hasTerms = ({ words, value }: Search) => words.length > 0 || value !== undefined

/** The condition on a row of `texts`. */
function contains({ words, value }: Search): RawBuilder<boolean> {
  const terms = words.map(
    (forms) =>
      sql<boolean>`(${sql.join(
        forms.map((form) => containsText(sql`texts.text`, form)),
        sql` or `,
      )})`,
  )
  if (value !== undefined) terms.push(containsText(sql`texts.text`, value, BEFORE_VALUES))
  return sql.join(terms, sql` and `)
}

/** The expected values are the last line of a text, after the tags and the metadata. */
const BEFORE_VALUES = '%\n[%\n{%}\n[%'

/** Whether `foundIds` returns exactly the matches. Otherwise it returns more, and the rows must be compared with the search. */
export const isExact = (search: Search): boolean => search.names === undefined || !hasTerms(search)

/** The texts from which the number of matches is estimated. */
const SAMPLE_SIZE = 1_000

/** Whether so many texts match that reading them is faster than PostgreSQL's index, which collects all matches before the first one. */
async function isCommon(db: Database, { organizationId }: Tenant, search: Search): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from (
    select text from monitor_texts where organization_id = ${organizationId} order by monitor_id limit ${SAMPLE_SIZE}) as texts
    where ${contains(search)}`.execute(db)
  return rows[0]!.count > SAMPLE_SIZE / 4
}

/** Up to `max` ids of `foundIds`, for counting. */
export async function countedIds(db: Database, tenant: Tenant, search: Search, max: number) {
  const readsTexts = indexesTrigrams(db) && !search.names && (await isCommon(db, tenant, search))
  if (!readsTexts) return foundIds(db, tenant, search, max)
  const { organizationId } = tenant
  return sql<{ id: string }>`(select monitor_id as id from monitor_texts as texts
    where texts.organization_id = ${organizationId} and ${contains(search)} limit ${max})`
}

/** The distinct ids of the matches, from an index, without the other filters. */
export function foundIds(db: Database, tenant: Tenant, search: Search, max?: number): RawBuilder<{ id: string }> {
  const limit = max === undefined ? sql`` : sql`limit ${max}`
  if (search.names && search.value === undefined) return idsByName(db, tenant, search.names, limit)
  const { organizationId } = tenant
  if (indexesTrigrams(db)) {
    return sql`(select monitor_id as id from monitor_texts as texts
      where texts.organization_id = ${organizationId} and ${hasTrigrams(tenant, search)} and ${contains(search)} ${limit})`
  }
  // The numbers of the organization limit what is read of each trigram's list.
  const bound = (aggregate: 'min' | 'max') =>
    sql`(select ${sql.raw(aggregate)}(number) from monitor_texts where organization_id = ${organizationId})`
  return sql`(select texts.monitor_id as id from monitor_search cross join monitor_texts as texts
    where monitor_search match ${matchOf(search)}
      and monitor_search.rowid >= ${bound('min')} and monitor_search.rowid <= ${bound('max')}
      and texts.number = monitor_search.rowid and texts.organization_id = ${organizationId} and ${contains(search)} ${limit})`
}

const wordsAndValue = ({ words, value }: Search): Search['words'] => (value === undefined ? words : [...words, [value]])

/** Exactly the expression of the index in the migration. */
function hasTrigrams({ organizationId }: Tenant, search: Search) {
  const numbersOf = (trigram: string) => sql`search_trigrams(${organizationId}, ${trigram})`
  const has = (form: string) =>
    sql`search_trigrams(organization_id, text) @> (${sql.join(trigramsFor(search, form).map(numbersOf), sql` || `)})`
  const terms = indexed(wordsAndValue(search)).map((forms) => sql`(${sql.join(forms.map(has), sql` or `)})`)
  return sql.join(terms, sql` and `)
}

/** The oldest and the newest texts, so many of each, show how common a trigram is. */
const TRIGRAM_SAMPLE_SIZE = 100
/** Looking up a trigram that a larger part of the texts has takes longer than it saves. */
const MAX_TRIGRAM_FREQUENCY = 0.5

/**
 * The search without the trigrams that most texts of the organization have ("com", "ple"): their lists in the index are the longest.
 * Each word keeps at least its rarest trigram.
 */
export async function withRareTrigrams(db: Database, { organizationId }: Tenant, search: Search): Promise<Search> {
  if (search.names && search.value === undefined) return search
  const texts = db.selectFrom('monitor_texts').select('text').where('organization_id', '=', organizationId)
  // One after the other, because a transaction of PostgreSQL has one connection.
  const oldest = await texts.orderBy('monitor_id').limit(TRIGRAM_SAMPLE_SIZE).execute()
  const newest = await texts.orderBy('monitor_id', 'desc').limit(TRIGRAM_SAMPLE_SIZE).execute()
  const rows = [...oldest, ...newest]
  const rareOf = (form: string) => {
    const counted = trigramsOf(form).map((trigram) => {
      return { trigram, count: rows.filter(({ text }) => text.includes(trigram)).length }
    })
    const rare = counted.filter(({ count }) => count <= rows.length * MAX_TRIGRAM_FREQUENCY)
    const selected = rare.length > 0 ? rare : counted.sort((a, b) => a.count - b.count).slice(0, 1)
    return selected.map(({ trigram }) => trigram)
  }
  const forms = indexed(wordsAndValue(search)).flat()
  return { ...search, trigrams: new Map(forms.map((form) => [form, rareOf(form)])) }
}

const trigramsFor = ({ trigrams }: Search, form: string) => trigrams?.get(form) ?? trigramsOf(form)

/** The query of FTS5. */
const matchOf = (search: Search): string =>
  indexed(wordsAndValue(search))
    .map((forms) => `(${forms.map((form) => `(${trigramsFor(search, form).map(quoted).join(' AND ')})`).join(' OR ')})`)
    .join(' AND ')

const trigramsOf = (form: string) => {
  const characters = Array.from(form)
  const trigrams = characters
    .slice(0, 1 - TRIGRAM_LENGTH)
    .map((_, index) => characters.slice(index, index + TRIGRAM_LENGTH).join(''))
  return [...new Set(trigrams)]
}
const quoted = (term: string) => `"${term.replaceAll('"', '""')}"`

/** The beginnings of the words that are looked up in the index. */
export function indexed(words: Search['words']): string[][] {
  const length = Math.max(TRIGRAM_LENGTH, Math.floor(MAX_TRIGRAMS / words.length))
  const longWords = words.filter(isLong).slice(0, MAX_TRIGRAMS / TRIGRAM_LENGTH)
  return longWords.map((forms) => forms.map((form) => Array.from(form).slice(0, length).join('')))
}

/** From the indexes of the owner names and of the domains. */
function idsByName(db: Database, { organizationId }: Tenant, [from, to]: NameRange, limit: RawBuilder<unknown>) {
  const idsBy = (
    column: 'owner' | 'domain',
  ) => sql`select id from (select id from ${indexedTable(db, 'monitors', `monitors_by_${column}`)}
    where organization_id = ${organizationId} and ${sql.ref(column)} >= ${from} and ${sql.ref(column)} < ${to}
    ${limit}) as ${sql.ref(`of_${column}`)}`
  return sql<{ id: string }>`(${idsBy('owner')} union ${idsBy('domain')})`
}

/** Whether so few monitors match that they can be sorted for each page. */
export async function isFoundFew(db: Database, tenant: Tenant, search: Search): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`select count(*) as count
    from ${foundIds(db, tenant, search, MAX_SORTED_ROWS)} as found`.execute(db)
  return rows[0]!.count < MAX_SORTED_ROWS
}
