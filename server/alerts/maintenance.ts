import { type RawBuilder, sql } from 'kysely'
import { RRuleTemporal } from 'rrule-temporal'
import { fieldError } from '#contract/field-errors.ts'
import type { FieldErrors } from '../problem.ts'
import { globOf, nameIsLike } from './name-pattern.ts'

/** When a window is: the first occurrence in UTC epoch milliseconds, and how it recurs on the clock of a time zone. */
export type Schedule = { from: number; to: number; rrule: string | null; timezone: string }
/** UTC epoch milliseconds; `to` is its first instant after the window. */
export type Occurrence = { from: number; to: number }

/** Which monitors a window is about, as the database holds it. Null matches everything. */
export type WindowFilters = { monitor_ids: string | null; group_ids: string | null; name_pattern: string | null }

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const LONGEST_ONCE_DAYS = 31
const LONGEST_RECURRING_DAYS = 7
const MOST_OCCURRENCES = 366
const MOST_INTERVAL = 1_000
/** Periods of a rule that are looked at for one occurrence. A rule that has none within them has ended. */
const MOST_PERIODS = 1_000

/** The occurrence that includes the instant, or else the next one; undefined when none follows. Pure. */
export function occurrenceAt(schedule: Schedule, now: number): Occurrence | undefined {
  if (schedule.rrule === null) return now < schedule.to ? { from: schedule.from, to: schedule.to } : undefined
  const local = wallClock(now, schedule.timezone)
  const rule = recurrence(schedule)
  const last = startOf(() => rule.previous(local, true))
  const found = last && occurrenceOf(schedule, last)
  if (found && now < found.to) return found
  const next = startOf(() => rule.next(local))
  return next && occurrenceOf(schedule, next)
}

/** The next few, the current one included. */
export function upcoming(schedule: Schedule, now: number, limit: number): Occurrence[] {
  const found: Occurrence[] = []
  let at = now
  while (found.length < limit) {
    const one = occurrenceAt(schedule, at)
    if (!one) break
    found.push(one)
    at = one.to
  }
  return found
}

export const isDuring = (occurrence: Occurrence | undefined, now: number): boolean =>
  occurrence !== undefined && occurrence.from <= now && now < occurrence.to

/** When the last occurrence ends; null where the rule does not end. */
export function lastEnd(schedule: Schedule): number | null {
  if (schedule.rrule === null) return schedule.to
  const rule = recurrence(schedule)
  const { count, until } = rule.options()
  if (count === undefined && until === undefined) return null
  const last = startOf(() => (count === undefined ? rule.previous(until, true) : (rule.all().at(-1) ?? null)))
  return last ? occurrenceOf(schedule, last).to : schedule.from
}

/**
 * The rule runs on the wall clock, written as if that were UTC, and each start and end is an instant of the time zone afterwards.
 * So a window that begins in the hour that a change of the clock skips is not left out.
 */
function recurrence({ from, rrule, timezone }: Schedule): RRuleTemporal {
  const start = wallClock(from, timezone).toPlainDateTime().toString({ smallestUnit: 'second' }).replace(/[-:]/g, '')
  const rule = rrule!.replace(/UNTIL=([0-9TZ]+)/, (_, until: string) => `UNTIL=${localUntil(until, timezone)}`)
  return new RRuleTemporal({ rruleString: `DTSTART;TZID=UTC:${start}\nRRULE:${rule}`, maxIterations: MOST_PERIODS })
}

/** RFC 5545 section 3.3.10 wants UNTIL in UTC; calendars also write a date, which includes that day. */
function localUntil(until: string, timezone: string): string {
  if (until.length === 8) return `${until}T235959Z`
  if (!until.endsWith('Z')) return `${until}Z`
  const instant = Temporal.Instant.from(until).epochMilliseconds
  return `${wallClock(instant, timezone).toPlainDateTime().toString({ smallestUnit: 'second' }).replace(/[-:]/g, '')}Z`
}

const wallClock = (at: number, timezone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timezone).toPlainDateTime().toZonedDateTime('UTC')

function startOf(find: () => { toString(): string } | null): Temporal.PlainDateTime | undefined {
  try {
    const found = find()
    return found === null ? undefined : Temporal.ZonedDateTime.from(found.toString()).toPlainDateTime()
  } catch {
    return undefined // none within the periods that are looked at
  }
}

/** As long on the wall clock as the first one. Where the clock changes, the window is the longer one of both readings. */
function occurrenceOf({ from, to, timezone }: Schedule, start: Temporal.PlainDateTime): Occurrence {
  const length = wallClock(to, timezone).epochMilliseconds - wallClock(from, timezone).epochMilliseconds
  const end = start.add({ milliseconds: length })
  return {
    from: start.toZonedDateTime(timezone, { disambiguation: 'earlier' }).epochMilliseconds,
    to: end.toZonedDateTime(timezone, { disambiguation: 'later' }).epochMilliseconds,
  }
}

const NUMBERS = '[+-]?\\d{1,3}(?:,[+-]?\\d{1,3}){0,60}'
/** RFC 5545 section 3.3.10, without times of day: these come from the first occurrence. */
const PARTS: Record<string, RegExp> = {
  FREQ: /^(?:DAILY|WEEKLY|MONTHLY|YEARLY)$/,
  INTERVAL: /^[1-9]\d{0,3}$/,
  COUNT: /^[1-9]\d{0,2}$/,
  UNTIL: /^\d{8}(?:T\d{6}Z?)?$/,
  WKST: /^(?:MO|TU|WE|TH|FR|SA|SU)$/,
  BYDAY: /^(?:[+-]?\d{1,2})?(?:MO|TU|WE|TH|FR|SA|SU)(?:,(?:[+-]?\d{1,2})?(?:MO|TU|WE|TH|FR|SA|SU)){0,30}$/,
  BYMONTH: new RegExp(`^${NUMBERS}$`),
  BYMONTHDAY: new RegExp(`^${NUMBERS}$`),
  BYYEARDAY: new RegExp(`^${NUMBERS}$`),
  BYWEEKNO: new RegExp(`^${NUMBERS}$`),
  BYSETPOS: new RegExp(`^${NUMBERS}$`),
}

/** The rule in one form, or undefined. What costs much to expand is refused here. */
export function normalizedRule(text: string): string | undefined {
  const rule = text
    .trim()
    .toUpperCase()
    .replace(/^RRULE:/, '')
    .replace(/;$/, '')
  const parts = rule.split(';').map((part) => part.split('='))
  const names = new Set(parts.map(([name]) => name))
  const isKnown = parts.every(([name = '', value = '', ...more]) => more.length === 0 && PARTS[name]?.test(value))
  const number = (wanted: string) => Number(parts.find(([name]) => name === wanted)?.[1] ?? 0)
  if (!isKnown || names.size < parts.length || !names.has('FREQ')) return undefined
  if (names.has('COUNT') && names.has('UNTIL')) return undefined
  if (number('COUNT') > MOST_OCCURRENCES || number('INTERVAL') > MOST_INTERVAL) return undefined
  return rule
}

/** By the fields of a request what is wrong with the schedule. */
export function scheduleErrors(schedule: Schedule, now: number): FieldErrors {
  const { from, to, rrule } = schedule
  if (to <= from) return { to: fieldError('not_after', { start: 'from' }) }
  const mostDays = rrule === null ? LONGEST_ONCE_DAYS : LONGEST_RECURRING_DAYS
  if (to - from > mostDays * DAY_MS) return { to: fieldError('window_too_long', { days: mostDays }) }
  if (rrule === null) return to > now ? {} : { to: fieldError('not_in_future') }
  try {
    return occurrenceAt(schedule, Math.max(now, from)) ? {} : { rrule: fieldError('no_occurrence') }
  } catch {
    return { rrule: fieldError('invalid_rrule') }
  }
}

/** Whether the window is about the monitor. */
export function includesMonitor(
  { monitor_ids, group_ids, name_pattern }: WindowFilters,
  monitor: { id: string; groupId: string; name: string },
): boolean {
  return (
    (monitor_ids === null || (JSON.parse(monitor_ids) as string[]).includes(monitor.id)) &&
    (group_ids === null || (JSON.parse(group_ids) as string[]).includes(monitor.groupId)) &&
    (name_pattern === null || globOf(name_pattern).test(monitor.name))
  )
}

/** The same in SQL, for a statement over `monitors`: whether any of the windows is about the monitor. */
export function inAnyWindow(windows: readonly WindowFilters[]): RawBuilder<boolean> {
  if (windows.length === 0) return sql<boolean>`1 = 0`
  const each = windows.map(({ monitor_ids, group_ids, name_pattern }) => {
    const terms = [sql`1 = 1`]
    if (monitor_ids !== null) terms.push(sql`monitors.id in (${sql.join(JSON.parse(monitor_ids))})`)
    if (group_ids !== null) terms.push(sql`monitors.group_id in (${sql.join(JSON.parse(group_ids))})`)
    if (name_pattern !== null) terms.push(nameIsLike(name_pattern))
    return sql`(${sql.join(terms, sql` and `)})`
  })
  return sql<boolean>`(${sql.join(each, sql` or `)})`
}
