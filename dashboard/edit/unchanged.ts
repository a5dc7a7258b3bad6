import { useQueryClient } from '@tanstack/react-query'
import { ApiProblem, api } from '../api.ts'

const CHANGED = 'Someone else has changed this meanwhile. The page now shows their version. Look at it, then try again.'

/**
 * For an action without a form, such as Disable or Delete in a menu: the ETag for `If-Match`, if `fields` are still what the user sees.
 * Otherwise refreshes the page and throws.
 */
export function useUnchanged() {
  const queries = useQueryClient()
  return async <R extends object>(path: string, seen: R, fields: readonly (keyof R)[]): Promise<string> => {
    const { value, etag } = await api.getVersioned<R>(path)
    if (isSeen(value, seen, fields)) return etag
    void queries.invalidateQueries()
    throw new ApiProblem(412, { error: CHANGED })
  }
}

const isSeen = <R extends object>(stored: R, seen: R, fields: readonly (keyof R)[]): boolean =>
  fields.every((name) => JSON.stringify(stored[name] ?? null) === JSON.stringify(seen[name] ?? null))
