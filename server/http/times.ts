import { fieldError } from '#contract/field-errors.ts'
import { type FieldErrors, throwIfInvalid } from '../problem.ts'

const DAY_MS = 86_400_000
/** Where the hours begin: after the day, which has more digits in years that have. */
const TIME_OCTETS = 'HH:MM:SS.mmmZ'.length
const octets = Buffer.alloc('+012345-12-31T'.length + TIME_OCTETS)
let day = Number.NaN
let hoursAt = 0

/**
 * As `Date.toISOString`, of which a page needs dozens, at a fifth of the cost: the day is kept. Written into octets, because
 * texts put together from parts keep `JSON.stringify` from its fast path.
 */
export function toIso(instant: number): string {
  const ofDay = Math.floor(instant / DAY_MS)
  if (ofDay !== day) {
    hoursAt = octets.write(new Date(instant).toISOString(), 'latin1') - TIME_OCTETS
    day = ofDay
  }
  const ms = instant - ofDay * DAY_MS
  const [minutes, seconds] = [Math.floor(ms / 60_000), Math.floor(ms / 1_000)]
  const hours = Math.floor(minutes / 60)
  writeTwo(hours, hoursAt)
  writeTwo(minutes - hours * 60, hoursAt + 3)
  writeTwo(seconds - minutes * 60, hoursAt + 6)
  const left = ms - seconds * 1_000
  writeTwo(Math.floor(left / 10), hoursAt + 9)
  octets[hoursAt + 11] = ZERO + (left % 10)
  return octets.toString('latin1', 0, hoursAt + TIME_OCTETS)
}

const ZERO = 48

function writeTwo(number: number, at: number): void {
  const tens = Math.floor(number / 10)
  octets[at] = ZERO + tens
  octets[at + 1] = ZERO + number - tens * 10
}

export const toIsoOrNull = (instant: number | null): string | null => (instant === null ? null : toIso(instant))

/** A time filter: Unix seconds or ISO 8601, without a zone in UTC; a date is its first instant. Throws a 400 that names the field. */
export function parseTime(field: string, text: string): number {
  return parseTimes({ [field]: text }, [field])[field]!
}

/** Those of the fields that are given. Throws one 400 that names each that is no time, and what else is `refused` already. */
export function parseTimes<F extends string>(
  given: { [name in F]?: string | number | undefined },
  fields: readonly F[],
  refused: FieldErrors = {},
): { [name in F]?: number } {
  const times: { [name in F]?: number } = {}
  const errors: FieldErrors = {}
  for (const field of fields) {
    if (given[field] === undefined) continue
    const instant = toInstant(given[field])
    if (Number.isNaN(instant)) {
      errors[field] = fieldError('invalid_time')
    } else times[field] = instant
  }
  throwIfInvalid({ ...errors, ...refused })
  return times
}

/** NaN if it is not a time. */
export function toInstant(given: string | number): number {
  const text = String(given)
  const [iso, year, , month, day, time] = ISO.exec(text) ?? []
  const date = `${year}-${month}-${day}`
  // Eight digits in a text are a date of the basic format: as Unix seconds they would lie before 1974.
  if (iso === undefined || typeof given === 'number' || !isDate(date)) {
    return /^\d{1,12}(\.\d{1,3})?$/.test(text) ? Math.round(Number(text) * 1_000) : Number.NaN
  }
  if (time === undefined) return Date.parse(date)
  const [, hours, , minutes = '00', seconds = '00', fraction = '0', sign, ahead = '00', more = '00'] =
    TIME.exec(time) ?? []
  const zone = sign === undefined ? 'Z' : `${sign}${ahead}:${more}`
  return Date.parse(`${date}T${hours}:${minutes}:${seconds}.${fraction}${zone}`)
}

/** ISO 8601 in the extended format (2026-11-21T09:30:00Z) or the basic one (20261121T093000Z). */
const ISO = /^(\d{4})(-?)(\d\d)\2(\d\d)(?:T(.+))?$/i
const TIME = /^(\d\d)(?:(:?)(\d\d)(?:\2(\d\d)(?:[.,](\d+))?)?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?)?$/i

/** The runtime takes 30 February for 2 March. */
function isDate(date: string): boolean {
  const midnight = Date.parse(date)
  return !Number.isNaN(midnight) && toIso(midnight).startsWith(date)
}
