import { type ApiKey, KEY_LIMITS, type KeyLimit, type NewKeyLimits } from '#contract/api-keys.ts'
import { fieldError } from '#contract/field-errors.ts'
import type { ApiKeysTable } from '../database/schema-people.ts'
import { type Budget, budgetOf, type Limits, type OwnLimits } from '../http/limits.ts'
import { type FieldErrors, forbidden, throwIfInvalid } from '../problem.ts'

/** The limits of the server for keys. `most`: the highest that owners can set; 0: any. */
export type ServerLimits = { limits: Limits; keyLimitMax: number }

type Stored = Pick<ApiKeysTable, 'limits' | 'limits_by'>

/** What a key has of its own. What an owner set is never above what the operator allows now. */
export function ownLimits({ limits, limits_by }: Stored, { keyLimitMax }: ServerLimits): OwnLimits | undefined {
  if (limits === null) return undefined
  const own: OwnLimits = JSON.parse(limits)
  if (limits_by === 'operator' || keyLimitMax === 0) return own
  return Object.fromEntries(
    Object.entries(own).map(([kind, limit]) => [kind, limit === 0 ? keyLimitMax : Math.min(limit, keyLimitMax)]),
  )
}

/** As the API shows them. */
export const shownLimits = (own: OwnLimits = {}): ApiKey['limits'] =>
  Object.fromEntries(KEY_LIMITS.map((kind) => [kind, own[kind] ?? null])) as ApiKey['limits']

/** `given`: absent keeps, null clears. Throws 400 for a limit that only the operator can set. */
export function changedLimits(own: OwnLimits, given: NewKeyLimits | null | undefined, most: number): OwnLimits {
  if (given === undefined) return own
  if (given === null) return {}
  const errors: FieldErrors = {}
  const changed = { ...own }
  for (const [name, limit] of Object.entries(given)) {
    const kind = name as KeyLimit
    if (limit === null) delete changed[kind]
    else if (most !== 0 && (limit === 0 || limit > most) && limit !== own[kind]) {
      errors[`limits.${kind}`] = fieldError('above_key_limit', { max: most, given: limit })
    } else changed[kind] = limit!
  }
  throwIfInvalid(errors)
  return changed
}

/** For the column; null for none. */
export function storedLimits(own: OwnLimits): string | null {
  const entries = KEY_LIMITS.flatMap((kind) => (own[kind] === undefined ? [] : [[kind, own[kind]]]))
  return entries.length === 0 ? null : JSON.stringify(Object.fromEntries(entries))
}

/** What a key can do: how often, and until when. */
export type Rights = { limits: OwnLimits; expiresAt: number | null }

/** No key gives another one more than it has itself: the other would stay when it ends. Throws 403. */
export function refuseMoreThan(own: Rights, given: Rights, { limits }: ServerLimits): void {
  const rate = ({ limit }: Budget) => (limit === 0 ? Number.POSITIVE_INFINITY : limit)
  for (const kind of KEY_LIMITS) {
    const [has, gets] = [budgetOf(kind, limits, own.limits), budgetOf(kind, limits, given.limits)]
    // A window of its own comes on top of the one that the class is counted in otherwise.
    const isFurther = gets.kind === kind && has.kind !== kind
    const most = isFurther && has.limit !== 0 ? 0 : rate(has)
    if (rate(gets) <= most) continue
    throw forbidden(
      `An API key cannot give another key more than it has itself: limits.${kind} of the key ${isFurther ? 'is not set' : `is ${most}`}. Use a lower limit, or sign in to the dashboard.`,
    )
  }
  if (own.expiresAt !== null && (given.expiresAt === null || given.expiresAt > own.expiresAt)) {
    throw forbidden(
      'An API key cannot give another key more than it has itself: the other key must not expire later. Use an earlier time in expires, or sign in to the dashboard.',
    )
  }
}
