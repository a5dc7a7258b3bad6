import { fieldError } from '#contract/field-errors.ts'
import { type FieldErrors, invalid, throwIfInvalid } from './problem.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** `instant`: UTC epoch milliseconds. */
export const toIso = (instant: number): string => new Date(instant).toISOString()

export const toIsoOrNull = (instant: number | null): string | null => (instant === null ? null : toIso(instant))

/** A time filter: Unix seconds or ISO 8601, UTC if it has no zone; a date is its first instant. Throws a 400 that names the field. */
export function parseTime(field: string, text: string): number {
  return parseTimes({ [field]: text }, [field])[field]!
}

/** The fields that are present, parsed. Throws one 400 that names every field that is not a time, together with `errors`. */
export function parseTimes<F extends string>(
  input: { [name in F]?: string | number | undefined },
  fields: readonly F[],
  errors: FieldErrors = {},
): { [name in F]?: number } {
  const times: { [name in F]?: number } = {}
  const invalidTimes: FieldErrors = {}
  for (const field of fields) {
    if (input[field] === undefined) continue
    const instant = toInstant(input[field])
    if (Number.isNaN(instant)) invalidTimes[field] = fieldError('invalid_time')
    else times[field] = instant
  }
  throwIfInvalid({ ...invalidTimes, ...errors })
  return times
}

/** From `since` (inclusive) to `until` (exclusive; by default `now`). Throws like `parseTimes`, and a 400 for an empty period. */
export function parsePeriod(
  input: { since: string | number; until?: string | number | undefined },
  now: number,
  errors?: FieldErrors,
): { since: number; until: number } {
  const times = parseTimes(input, ['since', 'until'], errors)
  const period = { since: times.since!, until: times.until ?? now }
  if (period.until <= period.since) throw invalid({ until: fieldError('not_after', { start: 'since' }) })
  return period
}

/** UTC epoch milliseconds; NaN if `input` is not a time. */
export function toInstant(input: string | number): number {
  const text = String(input)
  const [iso, year, , month, day, time] = ISO.exec(text) ?? []
  const date = `${year}-${month}-${day}`
  // Eight digits in a text are a date in the basic format: as Unix seconds they would be before 1974.
  if (iso === undefined || typeof input === 'number' || !isDate(date)) {
    return /^\d{1,12}(\.\d{1,3})?$/.test(text) ? Math.round(Number(text) * 1_000) : Number.NaN
  }
  if (time === undefined) return Date.parse(date)
  const [, hours, , minutes = '00', seconds = '00', fraction = '0', sign, offsetHours = '00', offsetMinutes = '00'] =
    TIME.exec(time) ?? []
  const zone = sign === undefined ? 'Z' : `${sign}${offsetHours}:${offsetMinutes}`
  return Date.parse(`${date}T${hours}:${minutes}:${seconds}.${fraction}${zone}`)
}

/** ISO 8601 in the extended format (2026-11-21T09:30:00Z) or the basic one (20261121T093000Z). */
const ISO = /^(\d{4})(-?)(\d\d)\2(\d\d)(?:T(.+))?$/i
const TIME = /^(\d\d)(?:(:?)(\d\d)(?:\2(\d\d)(?:[.,](\d+))?)?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?)?$/i

/** `Date.parse` accepts 30 February and returns 2 March. */
function isDate(date: string): boolean {
  const midnight = Date.parse(date)
  return !Number.isNaN(midnight) && toIso(midnight).startsWith(date)
}
