import { sql } from 'kysely'

/** Names are stored in lower case and without the dot at their end. */
export const normalizedPattern = (pattern: string): string => pattern.trim().toLowerCase().replace(/\.$/, '')

/** `*` is any characters, also none. Runs in linear time: several stars in a row are one. */
export function globOf(pattern: string): { test(name: string): boolean } {
  const parts = pattern.split('*')
  return {
    test(name) {
      if (parts.length === 1) return name === pattern
      const [first, last] = [parts[0]!, parts.at(-1)!]
      if (!name.startsWith(first)) return false
      let from = first.length
      for (const part of parts.slice(1, -1)) {
        const found = name.indexOf(part, from)
        if (found < 0) return false
        from = found + part.length
      }
      return name.length - last.length >= from && name.endsWith(last)
    },
  }
}

/** For a statement over `monitors`. */
export const nameIsLike = (pattern: string) => sql<boolean>`monitors.owner like ${likeOf(pattern)} escape '!'`

const likeOf = (pattern: string): string => pattern.replace(/[%_!]/g, '!$&').replace(/\*+/g, '%')
