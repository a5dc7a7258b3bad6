import { type RawBuilder, sql } from 'kysely'
import { RRuleTemporal } from 'rrule-temporal'
import { fieldError } from '#contract/field-errors.ts'
import type { FieldErrors } from '../problem.ts'
import { DAY_MS } from '../times.ts'
import { matchesPattern, nameIsLike } from './name-pattern.ts'

/** The first occurrence in UTC epoch milliseconds, and how it recurs in the local time of a time zone. */
export type Schedule = { from: number; to: number; rrule: string | null; timezone: string }
/** UTC epoch milliseconds. `to` is exclusive. */
export type Occurrence = { from: number; to: number }

/** The columns that select monitors. Null matches all of them. */
export type WindowFilters = { monitor_ids: string | null; group_ids: string | null; name_pattern: string | null }

const MAX_SINGLE_DAYS = 31
const MAX_RECURRING_DAYS = 7
const MAX_OCCURRENCES = 366
const MAX_INTERVAL = 1_000
/** Periods of a rule that are searched for one occurrence. A rule without an occurrence in them has ended. */
const MAX_PERIODS = 1_000

/** The current occurrence, or else the next one. Pure. */
export function occurrenceAt(schedule: Schedule, now: number): Occurrence | undefined {
  if (schedule.rrule === null) return now < schedule.to ? { from: schedule.from, to: schedule.to } : undefined
  const local = localTimeAsUtc(now, schedule.timezone)
  const rule = parseRecurrence(schedule)
  const previousStart = findStart(() => rule.previous(local, true))
  const previous = previousStart && occurrenceFrom(schedule, previousStart)
  if (previous && now < previous.to) return previous
  const nextStart = findStart(() => rule.next(local))
  return nextStart && occurrenceFrom(schedule, nextStart)
}

/** The current occurrence and the next ones. */
export function upcomingOccurrences(schedule: Schedule, now: number, limit: number): Occurrence[] {
  const occurrences: Occurrence[] = []
  let occurrence = occurrenceAt(schedule, now)
  while (occurrence && occurrences.length < limit) {
    occurrences.push(occurrence)
    occurrence = occurrenceAt(schedule, occurrence.to)
  }
  return occurrences
}

export const isDuring = (occurrence: Occurrence | undefined, now: number): boolean =>
  occurrence !== undefined && occurrence.from <= now && now < occurrence.to

/** When the last occurrence ends; null if the rule does not end. */
export function lastEndAt(schedule: Schedule): number | null {
  if (schedule.rrule === null) return schedule.to
  const rule = parseRecurrence(schedule)
  const { count, until } = rule.options()
  if (count === undefined && until === undefined) return null
  const lastStart = findStart(() => (count === undefined ? rule.previous(until, true) : (rule.all().at(-1) ?? null)))
  return lastStart ? occurrenceFrom(schedule, lastStart).to : schedule.from
}

/**
 * The rule is evaluated in local time as if it were UTC, and the results are converted to instants of the time zone. So an
 * occurrence that begins in the hour that daylight saving time skips is kept.
 */
function parseRecurrence({ from, rrule, timezone }: Schedule): RRuleTemporal {
  const start = compactDateTime(from, timezone)
  const rule = rrule!.replace(/UNTIL=([0-9TZ]+)/, (_, until: string) => `UNTIL=${localUntil(until, timezone)}`)
  return new RRuleTemporal({ rruleString: `DTSTART;TZID=UTC:${start}\nRRULE:${rule}`, maxIterations: MAX_PERIODS })
}

/** RFC 5545 section 3.3.10 has UNTIL in UTC. Calendars also write a date, which includes that day. */
function localUntil(until: string, timezone: string): string {
  if (until.length === 8) return `${until}T235959Z`
  if (!until.endsWith('Z')) return `${until}Z`
  return `${compactDateTime(Temporal.Instant.from(until).epochMilliseconds, timezone)}Z`
}

/** The local time as in `20261122T010000`. */
const compactDateTime = (at: number, timezone: string): string =>
  localTimeAsUtc(at, timezone).toPlainDateTime().toString({ smallestUnit: 'second' }).replace(/[-:]/g, '')

const localTimeAsUtc = (at: number, timezone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timezone).toPlainDateTime().toZonedDateTime('UTC')

function findStart(find: () => { toString(): string } | null): Temporal.PlainDateTime | undefined {
  try {
    const start = find()
    return start === null ? undefined : Temporal.ZonedDateTime.from(start.toString()).toPlainDateTime()
  } catch {
    return undefined // The library throws if none of the searched periods has an occurrence.
  }
}

/** As long in local time as the first one. If the clock changes, the window begins early and ends late. */
function occurrenceFrom({ from, to, timezone }: Schedule, start: Temporal.PlainDateTime): Occurrence {
  const length = localTimeAsUtc(to, timezone).epochMilliseconds - localTimeAsUtc(from, timezone).epochMilliseconds
  const end = start.add({ milliseconds: length })
  return {
    from: start.toZonedDateTime(timezone, { disambiguation: 'earlier' }).epochMilliseconds,
    to: end.toZonedDateTime(timezone, { disambiguation: 'later' }).epochMilliseconds,
  }
}

const NUMBERS = '^[+-]?\\d{1,3}(?:,[+-]?\\d{1,3}){0,60}$'
/** RFC 5545 section 3.3.10, without the parts for times of day, which the first occurrence has. */
const PARTS: Record<string, RegExp> = {
  FREQ: /^(?:DAILY|WEEKLY|MONTHLY|YEARLY)$/,
  INTERVAL: /^[1-9]\d{0,3}$/,
  COUNT: /^[1-9]\d{0,2}$/,
  UNTIL: /^\d{8}(?:T\d{6}Z?)?$/,
  WKST: /^(?:MO|TU|WE|TH|FR|SA|SU)$/,
  BYDAY: /^(?:[+-]?\d{1,2})?(?:MO|TU|WE|TH|FR|SA|SU)(?:,(?:[+-]?\d{1,2})?(?:MO|TU|WE|TH|FR|SA|SU)){0,30}$/,
  BYMONTH: new RegExp(NUMBERS),
  BYMONTHDAY: new RegExp(NUMBERS),
  BYYEARDAY: new RegExp(NUMBERS),
  BYWEEKNO: new RegExp(NUMBERS),
  BYSETPOS: new RegExp(NUMBERS),
}

/** Returns undefined for an invalid rule, and for one that is expensive to expand. */
export function normalizeRule(text: string): string | undefined {
  const rule = text
    .trim()
    .toUpperCase()
    .replace(/^RRULE:/, '')
    .replace(/;$/, '')
  const parts = rule.split(';').map((part) => part.split('='))
  const names = new Set(parts.map(([name]) => name))
  const isKnown = parts.every(([name = '', value = '', ...more]) => more.length === 0 && PARTS[name]?.test(value))
  const numberOf = (part: string) => Number(parts.find(([name]) => name === part)?.[1] ?? 0)
  if (!isKnown || names.size < parts.length || !names.has('FREQ')) return undefined
  if (names.has('COUNT') && names.has('UNTIL')) return undefined
  if (numberOf('COUNT') > MAX_OCCURRENCES || numberOf('INTERVAL') > MAX_INTERVAL) return undefined
  return rule
}

export function scheduleErrors(schedule: Schedule, now: number): FieldErrors {
  const { from, to, rrule } = schedule
  if (to <= from) return { to: fieldError('not_after', { start: 'from' }) }
  const maxDays = rrule === null ? MAX_SINGLE_DAYS : MAX_RECURRING_DAYS
  if (to - from > maxDays * DAY_MS) return { to: fieldError('window_too_long', { days: maxDays }) }
  if (rrule === null) return to > now ? {} : { to: fieldError('not_in_future') }
  try {
    return occurrenceAt(schedule, Math.max(now, from)) ? {} : { rrule: fieldError('no_occurrence') }
  } catch {
    return { rrule: fieldError('invalid_rrule') }
  }
}

export function includesMonitor(
  { monitor_ids, group_ids, name_pattern }: WindowFilters,
  monitor: { id: string; groupId: string; name: string },
): boolean {
  return (
    (monitor_ids === null || (JSON.parse(monitor_ids) as string[]).includes(monitor.id)) &&
    (group_ids === null || (JSON.parse(group_ids) as string[]).includes(monitor.groupId)) &&
    (name_pattern === null || matchesPattern(name_pattern, monitor.name))
  )
}

/** The same in SQL, for a statement over `monitors` and several windows. */
export function inAnyWindow(windows: readonly WindowFilters[]): RawBuilder<boolean> {
  if (windows.length === 0) return sql<boolean>`1 = 0`
  const conditions = windows.map(({ monitor_ids, group_ids, name_pattern }) => {
    const terms = [sql`1 = 1`]
    if (monitor_ids !== null) terms.push(sql`monitors.id in (${sql.join(JSON.parse(monitor_ids))})`)
    if (group_ids !== null) terms.push(sql`monitors.group_id in (${sql.join(JSON.parse(group_ids))})`)
    if (name_pattern !== null) terms.push(nameIsLike(name_pattern))
    return sql`(${sql.join(terms, sql` and `)})`
  })
  return sql<boolean>`(${sql.join(conditions, sql` or `)})`
}
