import { sql } from 'kysely'
import { notFound, Problem } from '../problem.ts'

/**
 * A resource's `version` counts the changes of what a PATCH can change, no matter who makes them. Checks and deliveries do not
 * count: a change of the expectation is not refused because a check has finished.
 */

/** The versions that a caller's `If-Match` names; undefined: any. */
export type Match = readonly number[] | undefined

/** What a change sets in addition to its columns. */
export const nextVersion = { version: sql<number>`version + 1` }

/** For the WHERE of a change, so that of two changes of one version the second changes no row. */
export const isMatch = (match: Match) =>
  match === undefined
    ? sql<boolean>`1 = 1`
    : match.length === 0
      ? sql<boolean>`1 = 0`
      : sql<boolean>`version in (${sql.join(match)})`

/** Throws 412 for a row that is locked until the change is made, and has another version. */
export function refuseStale({ version }: { version: number }, match: Match): void {
  if (match !== undefined && !match.includes(version)) throw stale()
}

/** What the change of no row means for a resource that was there a moment ago. */
export const changedNothing = (match: Match): Problem => (match === undefined ? notFound() : stale())

export const stale = () =>
  new Problem(
    412,
    'The resource has changed since you read it, or the ETag in If-Match is not one of its own. Read it again, then retry.',
  )

/** Representations have exactly the specification's fields, so that their versions stand beside them. */
const versions = new WeakMap<object, Versioned>()

/** `asRead`: what GET answers, where this representation shows more. */
export type Versioned = { version: number; asRead?: object | undefined }

export function withVersion<T extends object>(representation: T, version: number, asRead?: T): T {
  versions.set(representation, { version, asRead })
  return representation
}

export const versionOf = (representation: unknown): Versioned | undefined =>
  typeof representation === 'object' && representation !== null ? versions.get(representation) : undefined
