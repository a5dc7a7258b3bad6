import { sql } from 'kysely'
import { notFound, Problem } from '../problem.ts'

/**
 * The `version` of a resource counts changes of the fields that PATCH can change. Checks and deliveries do not count, so a finished
 * check does not cause a 412 for a new expected value.
 */

/** The versions in the `If-Match` header; undefined: any. */
export type Match = readonly number[] | undefined

/** Every update of such a resource also sets this. */
export const nextVersion = { version: sql<number>`version + 1` }

/** For the WHERE of an update, so that only the first of two updates of one version succeeds. */
export const isMatch = (match: Match) =>
  match === undefined
    ? sql<boolean>`1 = 1`
    : match.length === 0
      ? sql<boolean>`1 = 0`
      : sql<boolean>`version in (${sql.join(match)})`

/** Throws 412 if the locked row has another version. */
export function refuseStale({ version }: { version: number }, match: Match): void {
  if (match !== undefined && !match.includes(version)) throw stale()
}

/** The error if an update changed no row. */
export const changedNothing = (match: Match): Problem => (match === undefined ? notFound() : stale())

export const stale = () =>
  new Problem(
    412,
    'The resource has changed since you read it, or the ETag in If-Match is not one of its own. Read it again, then retry.',
  )

/** By resource, because responses have exactly the fields of the specification. */
const versions = new WeakMap<object, Versioned>()

/** `asRead`: the response to GET, if this one has more fields. */
export type Versioned = { version: number; asRead?: object | undefined }

export function withVersion<T extends object>(representation: T, version: number, asRead?: T): T {
  versions.set(representation, { version, asRead })
  return representation
}

export const versionOf = (representation: unknown): Versioned | undefined =>
  typeof representation === 'object' && representation !== null ? versions.get(representation) : undefined
