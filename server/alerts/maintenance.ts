import { type RawBuilder, sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type { FieldErrors } from '../problem.ts'
import { DAY_MS } from '../times.ts'
import { matchesPattern, nameIsLike } from './name-pattern.ts'
import { HORIZON_DAYS, parseRecurrence, recurringDays, type Steps } from './recurrence.ts'

/** The first occurrence in UTC epoch milliseconds, and how it recurs in the local time of a time zone. */
export type Schedule = { from: number; to: number; rrule: string | null; timezone: string }
/** UTC epoch milliseconds. `to` is exclusive. */
export type Occurrence = { from: number; to: number }
/** `isComplete`: the schedule has no more occurrences than these. */
export type Expansion = { occurrences: Occurrence[]; isComplete: boolean }

/** The columns that select monitors. Null matches all of them. */
export type WindowFilters = { monitor_ids: string | null; group_ids: string | null; name_pattern: string | null }

const MAX_SINGLE_DAYS = 31
const MAX_RECURRING_DAYS = 7

/**
 * The current occurrence and the next ones, at most `limit`. Of occurrences that overlap, the latest is the current one. Looks at each
 * day from the current one to the horizon at most once (`recurrence.ts`).
 */
export function expandSchedule(schedule: Schedule, now: number, limit: number, steps?: Steps | undefined): Expansion {
  if (schedule.rrule === null) {
    const occurrences = now < schedule.to ? [{ from: schedule.from, to: schedule.to }] : []
    return { occurrences, isComplete: true }
  }
  const occurrences: Occurrence[] = []
  let at = now
  let latest: Occurrence | undefined
  const starts = recurringStarts(schedule, now, steps)
  for (let next = starts.next(); ; next = starts.next()) {
    const occurrence = next.done ? undefined : occurrenceFrom(schedule, next.value)
    if (latest && (!occurrence || occurrence.from > at)) {
      occurrences.push(latest)
      if (occurrences.length === limit) return { occurrences, isComplete: false }
      at = latest.to
      latest = undefined
    }
    if (next.done) return { occurrences, isComplete: next.value || occurrences.length === 0 }
    if (occurrence && occurrence.to > at) latest = occurrence
  }
}

export const isDuring = (occurrence: Occurrence | undefined, now: number): boolean =>
  occurrence !== undefined && occurrence.from <= now && now < occurrence.to

/**
 * The starts in local time, from a little before `now`. The rule is evaluated in local time as if it were UTC, and the results are
 * converted to instants of the time zone. So an occurrence that begins in the hour that daylight saving time skips is kept.
 */
function* recurringStarts(
  { from, rrule, timezone }: Schedule,
  now: number,
  steps: Steps | undefined,
): Generator<Temporal.PlainDateTime, boolean> {
  const rule = parseRecurrence(rrule!)
  if (!rule) return true // Stored by an earlier version.
  const until = rule.until === null ? null : localUntil(rule.until, timezone)
  const local = localTime(from, timezone)
  const first = dayNumber(local)
  const current = dayNumber(localTime(now, timezone)) - MAX_RECURRING_DAYS - 2
  const days = recurringDays(rule, { first, from: current, steps })
  for (let next = days.next(); ; next = days.next()) {
    if (next.done) return next.value
    const start = local.add({ days: next.value - first })
    if (until !== null && Temporal.PlainDateTime.compare(start, until) > 0) return true
    yield start
  }
}

/** RFC 5545 section 3.3.10 has UNTIL in UTC. Calendars also write a date, which includes that day. */
function localUntil(until: string, timezone: string): Temporal.PlainDateTime {
  if (until.length === 8) return Temporal.PlainDate.from(until).toPlainDateTime('23:59:59')
  if (!until.endsWith('Z')) return Temporal.PlainDateTime.from(until)
  return localTime(Temporal.Instant.from(until).epochMilliseconds, timezone)
}

const localTime = (at: number, timezone: string): Temporal.PlainDateTime =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timezone).toPlainDateTime()

const msAsUtc = (local: Temporal.PlainDateTime): number => local.toZonedDateTime('UTC').epochMilliseconds
/** From 1970-01-01. */
const dayNumber = (local: Temporal.PlainDateTime): number => Math.floor(msAsUtc(local) / DAY_MS)

/** As long in local time as the first one. If the clock changes, the window begins early and ends late. */
function occurrenceFrom({ from, to, timezone }: Schedule, start: Temporal.PlainDateTime): Occurrence {
  const length = msAsUtc(localTime(to, timezone)) - msAsUtc(localTime(from, timezone))
  const end = start.add({ milliseconds: length })
  return {
    from: start.toZonedDateTime(timezone, { disambiguation: 'earlier' }).epochMilliseconds,
    to: end.toZonedDateTime(timezone, { disambiguation: 'later' }).epochMilliseconds,
  }
}

/** Returns undefined for an invalid rule. */
export function normalizeRule(text: string): string | undefined {
  const rule = text
    .trim()
    .toUpperCase()
    .replace(/^RRULE:/, '')
    .replace(/;$/, '')
  const recurrence = parseRecurrence(rule)
  return recurrence && isTime(recurrence.until) ? rule : undefined
}

function isTime(until: string | null): boolean {
  try {
    if (until !== null) localUntil(until, 'UTC')
    return true
  } catch {
    return false
  }
}

export function scheduleErrors(schedule: Schedule, now: number): FieldErrors {
  const { from, to, rrule } = schedule
  if (to <= from) return { to: fieldError('not_after', { start: 'from' }) }
  const maxDays = rrule === null ? MAX_SINGLE_DAYS : MAX_RECURRING_DAYS
  if (to - from > maxDays * DAY_MS) return { to: fieldError('window_too_long', { days: maxDays }) }
  if (rrule === null) return to > now ? {} : { to: fieldError('not_in_future') }
  const { occurrences } = expandSchedule(schedule, Math.max(now, from), 1)
  const years = Math.floor(HORIZON_DAYS / 366)
  return occurrences.length > 0 ? {} : { rrule: fieldError('no_occurrence', { years }) }
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

/** Zones are in no group: a window for monitors or groups includes none. */
export const includesZone = ({ monitor_ids, group_ids, name_pattern }: WindowFilters, name: string): boolean =>
  monitor_ids === null && group_ids === null && (name_pattern === null || matchesPattern(name_pattern, name))

/** The same in SQL, for a statement over `zones` and several windows. */
export function zoneInAnyWindow(windows: readonly WindowFilters[]): RawBuilder<boolean> {
  const conditions = windows
    .filter(({ monitor_ids, group_ids }) => monitor_ids === null && group_ids === null)
    .map(({ name_pattern }) => (name_pattern === null ? sql`1 = 1` : nameIsLike(name_pattern, 'zones.name')))
  return conditions.length === 0 ? sql<boolean>`1 = 0` : sql<boolean>`(${sql.join(conditions, sql` or `)})`
}
