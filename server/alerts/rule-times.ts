import type { Selectable } from 'kysely'
import type { AlertRulesTable } from '../database/schema-alerts.ts'

/** When a rule may send: its quiet hours and its digests, in its time zone. */

type RuleRow = Pick<Selectable<AlertRulesTable>, 'quiet_from' | 'quiet_until' | 'timezone' | 'digest'>

const HOUR_MS = 60 * 60_000
/** A daily digest is sent at 08:00. */
const DIGEST_MINUTE = 8 * 60

/** When the quiet hours end that it is in now; null outside of them. */
export function quietUntil({ quiet_from, quiet_until, timezone }: RuleRow, now: number): number | null {
  if (quiet_from === null || quiet_until === null) return null
  const minute = minuteOfDay(now, timezone)
  const isQuiet =
    quiet_from < quiet_until
      ? minute >= quiet_from && minute < quiet_until
      : minute >= quiet_from || minute < quiet_until
  return isQuiet ? nextAt(quiet_until, timezone, now) : null
}

/** When the digest is sent that an alert of now is in. */
export function digestAt({ digest, timezone }: RuleRow, now: number): number {
  if (digest === 'daily') return nextAt(DIGEST_MINUTE, timezone, now)
  return (Math.floor(now / HOUR_MS) + 1) * HOUR_MS
}

/** The next instant at which clocks of the time zone show this minute. */
function nextAt(minute: number, timeZone: string, now: number): number {
  const wall = {
    hour: Math.floor(minute / 60),
    minute: minute % 60,
    second: 0,
    millisecond: 0,
    microsecond: 0,
    nanosecond: 0,
  }
  const here = zonedOf(now, timeZone)
  const today = here.with(wall).epochMilliseconds
  return today > now ? today : here.add({ days: 1 }).with(wall).epochMilliseconds
}

function minuteOfDay(at: number, timeZone: string): number {
  const { hour, minute } = zonedOf(at, timeZone)
  return hour * 60 + minute
}

const zonedOf = (at: number, timeZone: string) =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone)

/** `22:30` of minutes of the day, and back. */
export const clockText = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
export function minuteOf(text: string): number {
  const [hours, minutes] = text.split(':').map(Number)
  return hours! * 60 + minutes!
}
