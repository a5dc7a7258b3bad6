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
export function sinceText(instant: number, now: number): string {
  const ms = instant - now
  const size = Math.abs(ms)
  if (size < 45_000) return ms <= 0 ? 'just now' : 'in a moment'
  if (size < 50 * MINUTE) return relative.format(Math.round(ms / MINUTE), 'minute')
  if (size < 22 * HOUR) return relative.format(Math.round(ms / HOUR), 'hour')
  if (size < 7 * DAY) return relative.format(Math.round(ms / DAY), 'day')
  return day.format(instant)
}

/** In the viewer's zone. */
export const fullTime = (instant: string | number): string => full.format(new Date(instant))

/**
 * An instant of the API, in the viewer's zone, with UTC on hover and focus. `isExact` writes date and time, or only the time of
 * day to the second; otherwise it says how long ago, and keeps saying it truly.
 */
export function Time({ at, isExact }: { at: string; isExact?: boolean | 'clock' }) {
  const instant = Date.parse(at)
  const now = useNow(!isExact && Math.abs(Date.now() - instant) < DAY)
  return (
    <Tooltip text={`${full.format(instant)} · ${at.replace('T', ' ').replace('Z', '')} UTC`}>
      <time dateTime={at} className="whitespace-nowrap">
        {isExact ? (isExact === 'clock' ? seconds : clock).format(instant) : sinceText(instant, now)}
      </time>
    </Tooltip>
  )
}

/** Now, and again every half minute while `isMoving`. */
function useNow(isMoving: boolean): number {
  const [, tick] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    if (!isMoving) return
    const timer = setInterval(tick, 30_000)
    return () => clearInterval(timer)
  }, [isMoving])
  // Read again each time: what just happened must not seem to lie ahead.
  return Date.now()
}
