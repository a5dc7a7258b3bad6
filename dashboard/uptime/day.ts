import type { MonitorState } from '#contract/monitors.ts'
import type { DayPart, Uptime, UptimeDay } from '#contract/uptime.ts'
import { durationText } from '#contract/wording.ts'
import { STATE_DISPLAY, STATES, type Tone } from '../ui/state.tsx'

/** Not those of `contract/uptime.ts`, which would load all schemas. */
const DAY_PARTS: readonly DayPart[] = ['VALID', ...STATES.filter((state) => state !== 'VALID'), 'PAUSED', 'NOT_CHECKED']

/** How a part of a day is drawn: a state as its tone, `none` for time in which no state is known. */
export type DayTone = Tone | 'none'

/** From the bottom of a column: what failed first. The shares sum up to at most 1. */
export type Stack = { tone: DayTone; share: number }[]

const ORDER: DayTone[] = ['bad', 'warn', 'good', 'idle', 'none']
/** A failure of a minute is seen too. */
const LEAST_SHARE = 0.45

const isState = (part: string): part is MonitorState => part !== 'PAUSED' && part !== 'NOT_CHECKED'
const toneOf = (part: DayPart): DayTone => (isState(part) ? STATE_DISPLAY[part].tone : 'idle')

/** The column of a day. A day of which nothing is known has an empty one. */
export function stackOf({ seconds }: UptimeDay): Stack {
  const sums = new Map<DayTone, number>()
  let total = 0
  for (const part of DAY_PARTS) {
    const length = seconds[part] ?? 0
    if (length === 0) continue
    total += length
    sums.set(toneOf(part), (sums.get(toneOf(part)) ?? 0) + length)
  }
  const failed = ORDER.filter((tone) => (tone === 'bad' || tone === 'warn') && sums.has(tone))
  const shares = new Map(ORDER.flatMap((tone) => (sums.has(tone) ? [[tone, sums.get(tone)! / total] as const] : [])))
  const raised = new Map(failed.map((tone) => [tone, Math.max(LEAST_SHARE, shares.get(tone)!)]))
  const failedShare = [...raised.values()].reduce((sum, share) => sum + share, 0)
  const scale = failedShare > 1 ? 1 / failedShare : 1
  const othersBefore = [...shares].reduce((sum, [tone, share]) => (raised.has(tone) ? sum : sum + share), 0)
  const left = Math.max(0, 1 - failedShare)
  return ORDER.flatMap((tone) => {
    const share = raised.has(tone)
      ? raised.get(tone)! * scale
      : othersBefore === 0
        ? 0
        : ((shares.get(tone) ?? 0) / othersBefore) * left
    return share > 0 ? [{ tone, share }] : []
  })
}

const date = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })
export const dateText = (day: string): string => date.format(Date.parse(day))

const LABELS = { PAUSED: 'disabled', NOT_CHECKED: 'not checked' }
const labelOf = (part: DayPart) => (isState(part) ? STATE_DISPLAY[part].label.toLowerCase() : LABELS[part])

/** `monitors`: how many the seconds are the sum of. */
export function dayText({ date: day, seconds }: UptimeDay, monitors = 1): string {
  const parts = DAY_PARTS.filter((part) => (seconds[part] ?? 0) > 0)
  if (parts.length === 0) return `${dateText(day)}: nothing is known`
  const total = parts.reduce((sum, part) => sum + seconds[part]!, 0)
  const text = parts.map((part) =>
    parts.length === 1
      ? `${labelOf(part)} all the time`
      : monitors === 1
        ? `${labelOf(part)} ${durationText(seconds[part]! * 1_000)}`
        : `${labelOf(part)} ${shareText(seconds[part]! / total)}`,
  )
  return `${dateText(day)}: ${text.join(', ')}`
}

/** One sentence: how much was valid, and when it was not. For screen readers, and as the tooltip of a small bar. */
export function summaryText({ valid_percent, days }: Uptime): string {
  const failed = days.filter(({ seconds }) => DAY_PARTS.some((part) => isFailing(part) && (seconds[part] ?? 0) > 0))
  const share = valid_percent === null ? 'Less than a day is known' : `Valid ${percentText(valid_percent)}`
  const known = days.filter(({ seconds }) => Object.keys(seconds).length > 0).length
  const since =
    known === days.length ? `in ${days.length} days` : `in ${known} of ${days.length} days; the others are not known`
  const failures =
    failed.length === 0
      ? 'No failure'
      : failed.length > 3
        ? `Failures on ${failed.length} days`
        : `Failures on ${failed.map(({ date }) => dateText(date)).join(', ')}`
  return valid_percent === null ? `${share}. ${failures}.` : `${share} ${since}. ${failures}.`
}

const isFailing = (part: DayPart) => ['bad', 'warn'].includes(toneOf(part))

/** "100 %" only if exact: the API rounds down. */
export const percentText = (percent: number): string => `${Math.floor(percent * 100) / 100} %`

/** Rounded, but "100 %" and "0 %" only if exact. */
function shareText(share: number): string {
  const percent = share * 100
  if (percent > 99.99 && percent < 100) return '> 99.99 %'
  if (percent < 0.01) return '< 0.01 %'
  return `${Number(percent.toFixed(2))} %`
}
