import { useEffect, useReducer } from 'react'
import { Tooltip } from './tooltip.tsx'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const seconds = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' })

/** "3 minutes ago", "in 2 hours"; beyond a week the date. */
export function relativeTime(instant: number, now: number): string {
  const ms = instant - now
  const size = Math.abs(ms)
  if (size < 45_000) return ms <= 0 ? 'just now' : 'in a moment'
  if (size < 50 * MINUTE) return relative.format(Math.round(ms / MINUTE), 'minute')
  if (size < 22 * HOUR) return relative.format(Math.round(ms / HOUR), 'hour')
  if (size < 7 * DAY) return relative.format(Math.round(ms / DAY), 'day')
  return day.format(instant)
}

/** In the user's time zone. */
export const fullTime = (instant: string | number): string => full.format(new Date(instant))

/**
 * An instant of the API in the user's time zone, with UTC in a tooltip. `isExact` shows date and time, 'clock' the time of day to
 * the second. Otherwise it shows how long ago, and updates itself.
 */
export function Time({ at, isExact }: { at: string; isExact?: boolean | 'clock' }) {
  const instant = Date.parse(at)
  const now = useNow(!isExact && Math.abs(Date.now() - instant) < DAY)
  return (
    <Tooltip text={`${full.format(instant)} · ${at.replace('T', ' ').replace('Z', '')} UTC`}>
      <time dateTime={at} className="whitespace-nowrap">
        {isExact ? (isExact === 'clock' ? seconds : clock).format(instant) : relativeTime(instant, now)}
      </time>
    </Tooltip>
  )
}

/** The current time. Renders again every 30 seconds while `isUpdating`. */
function useNow(isUpdating: boolean): number {
  const [, tick] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    if (!isUpdating) return
    const timer = setInterval(tick, 30_000)
    return () => clearInterval(timer)
  }, [isUpdating])
  // Read at each render, so that an event that just happened is not in the future.
  return Date.now()
}
