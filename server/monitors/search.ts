import { type RawBuilder, sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type { Tenant } from '../context.ts'
import { type Database, engineOf } from '../database/database.ts'
import { FEW } from '../database/index-hints.ts'
import { parseDomainName } from '../dns/names.ts'
import { asciiLowerCase, containsText as hasCharacters } from '../groups/labels.ts'
import { invalid } from '../problem.ts'
import { pastedName } from './names.ts'

/** Names from the first on, up to the second. */
type NameRange = readonly [from: string, to: string]

/**
 * Every word is in the text of a monitor, in one of its forms, and `value` in its expected values. `names`: where no word is long
 * enough for the index, names begin with it.
 */
export type Search = {
  words: readonly (readonly string[])[]
  names?: NameRange
  value?: string
  /** What the index is asked for, by the form of a word; all its trigrams unless given. */
  trigrams?: ReadonlyMap<string, readonly string[]>
}

/** Sorts behind every character of a stored name. */
const LAST = '\u007f'
/** Characters of a word that the index knows. */
const TRIGRAM = 3
/** Trigrams that a search looks up; what they find is compared with the whole words. */
const MOST_TRIGRAMS = 60

/** What contains these words, written as people write names. Throws a 400 for an empty one. */
export function parseSearch(text: string): Search {
  const words = [...new Set(text.split(/\s+/).filter((word) => word !== ''))].map(formsOf)
  if (words.length === 0) throw invalid({ search: fieldError('blank_search') })
  if (words.some(isLong)) return { words }
  const [[prefix = ''] = [], ...rest] = words
  return { words: rest, names: [prefix, prefix + LAST] }
}

/** Adds what an expected value contains. */
export const withValue = (search: Search | undefined, value: string): Search => ({
  words: [],
  ...search,
  value: asciiLowerCase(value),
})

/** As it is written, and the name in a URL, a mail address, an IP address or one with letters beyond ASCII. */
function formsOf(word: string): string[] {
  const given = asciiLowerCase(word)
  const pasted = pastedName(word)
  const name = parseDomainName(pasted)
  const isName = name.ok && name.name !== '' && name.name !== given
  // What ends in a dot is a label that is complete: the name goes on with a dot, or ends there.
  const form = isName ? name.name + (pasted.endsWith('.') ? '\n' : '') : given
  return form === given ? [given] : [given, form]
}

const isLong = (forms: readonly string[]) => forms.every((form) => Array.from(form).length >= TRIGRAM)

/** Of a row of `monitors`. A scalar subquery, so that PostgreSQL looks up each row instead of joining all texts. */
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

/** Each word, in one of its forms, is in the text of `texts`, and the value in its expected values. */
function contains({ words, value }: Search): RawBuilder<boolean> {
  const terms = words.map((forms) => sql<boolean>`(${sql.join(forms.map(isIn), sql` or `)})`)
  if (value !== undefined) terms.push(hasCharacters(sql`texts.text`, value, BEFORE_VALUES))
  return sql.join(terms, sql` and `)
}

/** The expected values are the last line of a text, behind the lines of the tags and the metadata. */
const BEFORE_VALUES = '%\n[%\n{%}\n[%'

const isIn = (form: string) => hasCharacters(sql`texts.text`, form)

/** Whether `foundIds` are all that a search finds and no others. */
export const isExact = (search: Search): boolean => search.names === undefined || !hasTerms(search)

/** Texts that say how many have a word. */
const SAMPLE = 1_000

/**
 * Whether so many have it that reading the texts finds enough sooner than PostgreSQL's index, which collects all before it gives the first.
 */
async function isCommon(db: Database, { organizationId }: Tenant, search: Search): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from (
    select text from monitor_texts where organization_id = ${organizationId} order by monitor_id limit ${SAMPLE}) as texts
    where ${contains(search)}`.execute(db)
  return rows[0]!.count > SAMPLE / 4
}

/** `foundIds` for counting. */
export async function countedIds(db: Database, tenant: Tenant, search: Search, most: number) {
  const isRead = engineOf(db) === 'postgres' && !search.names && (await isCommon(db, tenant, search))
  if (!isRead) return foundIds(db, tenant, search, most)
  const { organizationId } = tenant
  return sql<{ id: string }>`(select monitor_id as id from monitor_texts as texts
    where texts.organization_id = ${organizationId} and ${contains(search)} limit ${most})`
}

/** The ids of monitors that a search finds, each once, from an index; at most `most`. The other filters are not looked at. */
export function foundIds(db: Database, tenant: Tenant, search: Search, most?: number): RawBuilder<{ id: string }> {
  const limit = most === undefined ? sql`` : sql`limit ${most}`
  if (search.names && search.value === undefined) return idsByName(db, tenant, search.names, limit)
  const { organizationId } = tenant
  if (engineOf(db) === 'postgres') {
    return sql`(select monitor_id as id from monitor_texts as texts
      where texts.organization_id = ${organizationId} and ${hasTrigrams(tenant, search)} and ${contains(search)} ${limit})`
  }
  // The numbers of the organization bound what is walked of each trigram's list.
  const bound = (which: 'min' | 'max') =>
    sql`(select ${sql.raw(which)}(number) from monitor_texts where organization_id = ${organizationId})`
  return sql`(select texts.monitor_id as id from monitor_search cross join monitor_texts as texts
    where monitor_search match ${matchOf(search)}
      and monitor_search.rowid >= ${bound('min')} and monitor_search.rowid <= ${bound('max')}
      and texts.number = monitor_search.rowid and texts.organization_id = ${organizationId} and ${contains(search)} ${limit})`
}

const lookedUp = ({ words, value }: Search): Search['words'] => (value === undefined ? words : [...words, [value]])

/** In the words of the migration, so that the index is used. Numbers of a trigram are those of its octets. */
function hasTrigrams({ organizationId }: Tenant, search: Search) {
  const numbersOf = (trigram: string) => sql`search_trigrams(${organizationId}, ${trigram})`
  const has = (form: string) =>
    sql`search_trigrams(organization_id, text) @> (${sql.join(trigramsFor(search, form).map(numbersOf), sql` || `)})`
  const terms = indexed(lookedUp(search)).map((forms) => sql`(${sql.join(forms.map(has), sql` or `)})`)
  return sql.join(terms, sql` and `)
}

/** Texts that say how common a trigram is: the oldest, and as many of the newest. */
const SAMPLED = 100
/** A trigram that a larger part of the texts has leaves so many that to look it up takes longer than it saves. */
const COMMON = 0.5

/**
 * The search without the trigrams that most texts of the organization have ("com", "ple"): their lists in the index are the longest. The
 * rarest of a word stays.
 */
export async function withRareTrigrams(db: Database, { organizationId }: Tenant, search: Search): Promise<Search> {
  if (search.names && search.value === undefined) return search
  const texts = db.selectFrom('monitor_texts').select('text').where('organization_id', '=', organizationId)
  // One after the other: in a transaction of PostgreSQL there is one connection.
  const oldest = await texts.orderBy('monitor_id').limit(SAMPLED).execute()
  const newest = await texts.orderBy('monitor_id', 'desc').limit(SAMPLED).execute()
  const rows = [...oldest, ...newest]
  const rareOf = (form: string) => {
    const counted = trigramsOf(form).map((trigram) => {
      return { trigram, count: rows.filter(({ text }) => text.includes(trigram)).length }
    })
    const rare = counted.filter(({ count }) => count <= rows.length * COMMON)
    const kept = rare.length > 0 ? rare : counted.sort((one, other) => one.count - other.count).slice(0, 1)
    return kept.map(({ trigram }) => trigram)
  }
  const forms = indexed(lookedUp(search)).flat()
  return { ...search, trigrams: new Map(forms.map((form) => [form, rareOf(form)])) }
}

const trigramsFor = ({ trigrams }: Search, form: string) => trigrams?.get(form) ?? trigramsOf(form)

/** The expression of FTS5. Its trigrams are characters. */
const matchOf = (search: Search): string =>
  indexed(lookedUp(search))
    .map((forms) => `(${forms.map((form) => `(${trigramsFor(search, form).map(quoted).join(' AND ')})`).join(' OR ')})`)
    .join(' AND ')

const trigramsOf = (form: string) => {
  const characters = Array.from(form)
  const trigrams = characters.slice(0, 1 - TRIGRAM).map((_, at) => characters.slice(at, at + TRIGRAM).join(''))
  return [...new Set(trigrams)]
}
const quoted = (term: string) => `"${term.replaceAll('"', '""')}"`

/** The words that the index knows, as far as it is asked for them. */
function indexed(words: Search['words']): string[][] {
  const each = Math.max(TRIGRAM, Math.floor(MOST_TRIGRAMS / words.length))
  const some = words.filter(isLong).slice(0, MOST_TRIGRAMS / TRIGRAM)
  return some.map((forms) => forms.map((form) => Array.from(form).slice(0, each).join('')))
}

/** From the two indexes of names. */
function idsByName(db: Database, { organizationId }: Tenant, [from, to]: NameRange, limit: RawBuilder<unknown>) {
  const by = (column: 'owner' | 'domain') =>
    engineOf(db) === 'sqlite' ? sql`monitors indexed by ${sql.ref(`monitors_by_${column}`)}` : sql`monitors`
  const some = (column: 'owner' | 'domain') => sql`select id from (select id from ${by(column)}
    where organization_id = ${organizationId} and ${sql.ref(column)} >= ${from} and ${sql.ref(column)} < ${to}
    ${limit}) as ${sql.ref(`of_${column}`)}`
  return sql<{ id: string }>`(${some('owner')} union ${some('domain')})`
}

/** Whether so few are found that they can be sorted for each page. */
export async function isFoundFew(db: Database, tenant: Tenant, search: Search): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`select count(*) as count
    from ${foundIds(db, tenant, search, FEW)} as found`.execute(db)
  return rows[0]!.count < FEW
}
