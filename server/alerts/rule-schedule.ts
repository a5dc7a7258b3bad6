import type { Selectable } from 'kysely'
import type { AlertRulesTable } from '../database/schema-alerts.ts'
import { HOUR_MS } from '../times.ts'

type RuleRow = Selectable<AlertRulesTable>

/** A daily digest is sent at 08:00. */
const DIGEST_MINUTE = 8 * 60

/** When the current quiet hours end; null outside of quiet hours. */
export function quietUntil(
  { quiet_from, quiet_until, timezone }: Pick<RuleRow, 'quiet_from' | 'quiet_until' | 'timezone'>,
  now: number,
): number | null {
  if (quiet_from === null || quiet_until === null) return null
  const local = localTime(now, timezone)
  const minute = local.hour * 60 + local.minute
  const isQuiet =
    quiet_from < quiet_until
      ? minute >= quiet_from && minute < quiet_until
      : minute >= quiet_from || minute < quiet_until
  return isQuiet ? nextInstantAt(quiet_until, timezone, now) : null
}

/** When the next digest is sent. */
export function digestAt({ digest, timezone }: Pick<RuleRow, 'digest' | 'timezone'>, now: number): number {
  if (digest === 'daily') return nextInstantAt(DIGEST_MINUTE, timezone, now)
  return (Math.floor(now / HOUR_MS) + 1) * HOUR_MS
}

/** `minute`: of the local day. */
function nextInstantAt(minute: number, timeZone: string, now: number): number {
  const local = localTime(now, timeZone)
  const time = { hour: Math.floor(minute / 60), minute: minute % 60, second: 0, millisecond: 0 }
  const today = local.with(time).epochMilliseconds
  return today > now ? today : local.add({ days: 1 }).with(time).epochMilliseconds
}

const localTime = (at: number, timeZone: string) =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone)
