import { sql } from 'kysely'

/** Names in the database are lower case and have no trailing dot. */
export const normalizePattern = (pattern: string): string => pattern.trim().toLowerCase().replace(/\.$/, '')

/** `*` matches any characters, or none. Runs in linear time, unlike a regular expression. */
export function matchesPattern(pattern: string, name: string): boolean {
  const parts = pattern.split('*')
  if (parts.length === 1) return name === pattern
  const [first, last] = [parts[0]!, parts.at(-1)!]
  if (!name.startsWith(first)) return false
  let from = first.length
  for (const part of parts.slice(1, -1)) {
    const index = name.indexOf(part, from)
    if (index < 0) return false
    from = index + part.length
  }
  return name.length - last.length >= from && name.endsWith(last)
}

/** For a statement over the table of the column. */
export function nameIsLike(pattern: string, column: 'monitors.owner' | 'zones.name' = 'monitors.owner') {
  const like = pattern.replace(/[%_!]/g, '!$&').replace(/\*+/g, '%')
  return sql<boolean>`${sql.ref(column)} like ${like} escape '!'`
}
