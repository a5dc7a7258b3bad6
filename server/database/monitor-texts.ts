import type { Dialect } from './migrate.ts'

// What migrations and the fills of `monitors/fill.ts` compute of a monitor. A change needs a migration that computes it again.

/** Of a row of monitors: each field in lines of its own, without the escapes of JSON. */
export const searchText = (row: string, { ENGINE }: Pick<Dialect, 'ENGINE'>) => {
  const lists = ['tags', 'metadata', 'expected_values'].map((column) => `${row}.${column}`).join(` || '\n' || `)
  const text = `${row}.owner || '\n' || coalesce(${row}.external_id, '') || '\n' || replace(replace(${lists}, '\\"', '"'), '\\\\', '\\')`
  // Letters beyond ASCII keep their case on both engines.
  return `substr(lower(${ENGINE === 'sqlite' ? text : `(${text}) collate "C"`}), 1, 2000)`
}

/** The rows of one organization have numbers of one range, so that a search walks no others in the index. */
export const NEXT_NUMBER = (organization: string) => `coalesce(
  (select max(number) + 1 from monitor_texts where organization_id = ${organization}),
  (((select coalesce(max(number), 0) from monitor_texts) >> 32) + 1) << 32)`

/**
 * The labels of an owner name from the last to the first, with a space between them, which no label has and which sorts before all that
 * labels have: the canonical order of RFC 4034 section 6.1, in which the names of a zone follow one another.
 */
export const nameOrder = (owner: string, { ENGINE }: Pick<Dialect, 'ENGINE'>) =>
  ENGINE === 'sqlite'
    ? `(select group_concat(value, ' ' order by key desc)
        from json_each('[' || replace(json_quote(${owner}), '.', '","') || ']'))`
    : `(select string_agg(label, ' ' order by place desc)
        from unnest(string_to_array(${owner}, '.')) with ordinality as labels (label, place))`
