const DAY_MS = 24 * 60 * 60_000

/**
 * A rule of RFC 5545 section 3.3.10 without times of day, which the first occurrence has. An empty set restricts nothing. Numbers below 0
 * count from the end.
 */
export type Recurrence = {
  frequency: Frequency
  interval: number
  count: number | null
  /** `20261122` or `20261122T010000`, with `Z` if it is in UTC. */
  until: string | null
  /** 0 is Monday. */
  weekStart: number
  /** By weekday; 0 is every one of them, 2 the second and -1 the last one of the month or year. */
  weekdays: ReadonlyMap<number, ReadonlySet<number>>
  months: ReadonlySet<number>
  monthDays: ReadonlySet<number>
  yearDays: ReadonlySet<number>
  weeks: ReadonlySet<number>
  positions: ReadonlySet<number>
}
type Frequency = 'DAILY' | 'WEEKLY' | 'MONTHLY' | 'YEARLY'

/** Occurrences of a rule beyond this distance are not computed: twice the time between two leap days, and a little more. */
export const HORIZON_DAYS = 10 * 366
const MAX_COUNT = 366
const MAX_INTERVAL = 1_000
const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU']

/** Each part with the highest absolute value of its numbers. */
const NUMBER_PARTS = { BYMONTH: 12, BYMONTHDAY: 31, BYYEARDAY: 366, BYWEEKNO: 53, BYSETPOS: 366 } as const
const NUMBERS = /^[+-]?\d{1,3}(?:,[+-]?\d{1,3}){0,60}$/
const BYDAY = /^(?:[+-]?\d{1,2})?(?:MO|TU|WE|TH|FR|SA|SU)(?:,(?:[+-]?\d{1,2})?(?:MO|TU|WE|TH|FR|SA|SU)){0,30}$/
const PARTS: Record<string, RegExp> = {
  FREQ: /^(?:DAILY|WEEKLY|MONTHLY|YEARLY)$/,
  INTERVAL: /^[1-9]\d{0,3}$/,
  COUNT: /^[1-9]\d{0,2}$/,
  UNTIL: /^\d{8}(?:T\d{6}Z?)?$/,
  WKST: /^(?:MO|TU|WE|TH|FR|SA|SU)$/,
  BYDAY,
  ...Object.fromEntries(Object.keys(NUMBER_PARTS).map((name) => [name, NUMBERS])),
}

/** Returns undefined for an invalid rule. Expects upper case. */
export function parseRecurrence(rule: string): Recurrence | undefined {
  const parts = rule.split(';').map((part) => part.split('='))
  const values = new Map(parts.map(([name = '', value = '']) => [name, value]))
  const isKnown = parts.every(([name = '', value = '', ...more]) => more.length === 0 && PARTS[name]?.test(value))
  if (!isKnown || values.size < parts.length || !values.has('FREQ')) return undefined
  if (values.has('COUNT') && values.has('UNTIL')) return undefined
  const numbers = (name: keyof typeof NUMBER_PARTS) => new Set(values.get(name)?.split(',').map(Number))
  const isInRange = Object.entries(NUMBER_PARTS).every(([name, max]) =>
    [...numbers(name as keyof typeof NUMBER_PARTS)].every((number) => number !== 0 && Math.abs(number) <= max),
  )
  const interval = Number(values.get('INTERVAL') ?? 1)
  const count = values.has('COUNT') ? Number(values.get('COUNT')) : null
  if (!isInRange || interval > MAX_INTERVAL || (count !== null && count > MAX_COUNT)) return undefined
  return {
    frequency: values.get('FREQ') as Frequency,
    interval,
    count,
    until: values.get('UNTIL') ?? null,
    weekStart: WEEKDAYS.indexOf(values.get('WKST') ?? 'MO'),
    weekdays: parseWeekdays(values.get('BYDAY')),
    months: numbers('BYMONTH'),
    monthDays: numbers('BYMONTHDAY'),
    yearDays: numbers('BYYEARDAY'),
    weeks: numbers('BYWEEKNO'),
    positions: numbers('BYSETPOS'),
  }
}

function parseWeekdays(text: string | undefined): Map<number, Set<number>> {
  const weekdays = new Map<number, Set<number>>()
  for (const entry of text?.split(',') ?? []) {
    const weekday = WEEKDAYS.indexOf(entry.slice(-2))
    const ordinals = weekdays.get(weekday) ?? new Set()
    weekdays.set(weekday, ordinals.add(Number(entry.slice(0, -2))))
  }
  return weekdays
}

/** Days are numbered from 1970-01-01. `taken`: days looked at so far. */
export type Steps = { taken: number }

/**
 * The days on which the rule occurs, from `from` (at least `first`, the day of the first occurrence) up to the horizon. Each day is
 * looked at once, so the work is bounded by the number of days, whatever the rule says: `HORIZON_DAYS`, and with COUNT also those
 * since `first`. Returns whether the rule ends there.
 */
export function* recurringDays(
  rule: Recurrence,
  { first, from, steps = { taken: 0 } }: { first: number; from: number; steps?: Steps | undefined },
): Generator<number, boolean> {
  const begin = Math.max(first, from)
  const completed = withDefaults(rule, first)
  let left = rule.count ?? Number.POSITIVE_INFINITY
  for (let number = rule.count === null ? periodsBefore(rule, first, begin) : 0; ; number++) {
    const period = periodAt(rule, first, number)
    if (period.day > begin + HORIZON_DAYS) return false
    const days: number[] = []
    for (let day = period.day; day < period.day + period.length; day++) {
      steps.taken++
      if (matches(completed, dateOf(day))) days.push(day)
    }
    for (const day of atPositions(days, rule.positions)) {
      if (day < first) continue
      if (day >= begin) yield day
      if (--left === 0) return true
    }
  }
}

/** What the rule leaves open is as in the first occurrence. */
function withDefaults(rule: Recurrence, first: number): Recurrence {
  const { frequency, months, monthDays, yearDays, weeks, weekdays } = rule
  const { month, monthDay, weekday } = dateOf(first)
  const onWeekday = { ...rule, weekdays: new Map([[weekday, new Set([0])]]) }
  if (weekdays.size + monthDays.size + yearDays.size > 0 || frequency === 'DAILY') return rule
  if (frequency === 'WEEKLY' || weeks.size > 0) return onWeekday
  const onMonthDay = { ...rule, monthDays: new Set([monthDay]) }
  return frequency === 'YEARLY' && months.size === 0 ? { ...onMonthDay, months: new Set([month]) } : onMonthDay
}

/** The day, week, month or year with this number, from that of the first occurrence. */
function periodAt({ frequency, interval, weekStart, weeks }: Recurrence, first: number, number: number) {
  const { year, month, weekday } = dateOf(first)
  const offset = number * interval
  switch (frequency) {
    case 'DAILY':
      return { day: first + offset, length: 1 }
    case 'WEEKLY':
      return { day: first - daysSince(weekStart, weekday) + 7 * offset, length: 7 }
    case 'MONTHLY':
      return between(dayOf(year, month + offset, 1), dayOf(year, month + offset + 1, 1))
    case 'YEARLY':
      if (weeks.size > 0) return between(weekOne(year + offset, weekStart), weekOne(year + offset + 1, weekStart))
      return between(dayOf(year + offset, 1, 1), dayOf(year + offset + 1, 1, 1))
  }
}

const between = (day: number, end: number) => ({ day, length: end - day })
const daysSince = (weekStart: number, weekday: number) => (weekday - weekStart + 7) % 7
const LONGEST_DAYS: Record<Frequency, number> = { DAILY: 1, WEEKLY: 7, MONTHLY: 31, YEARLY: 371 }

/** How many periods surely end before a day. */
const periodsBefore = ({ frequency, interval }: Recurrence, first: number, day: number): number =>
  Math.max(0, Math.floor((day - first) / (LONGEST_DAYS[frequency] * interval)) - 1)

function matches(rule: Recurrence, date: CalendarDay): boolean {
  const { months, monthDays, yearDays, weeks } = rule
  const { month, monthDay, monthLength, yearDay, yearLength } = date
  if (months.size > 0 && !months.has(month)) return false
  if (monthDays.size > 0 && !hasEither(monthDays, monthDay, monthLength)) return false
  if (yearDays.size > 0 && !hasEither(yearDays, yearDay, yearLength)) return false
  if (weeks.size > 0 && !hasEither(weeks, ...weekOf(date, rule.weekStart))) return false
  return matchesWeekday(rule, date)
}

/** The number of a thing out of so many, from the start or from the end. */
const hasEither = (numbers: ReadonlySet<number>, number: number, length: number): boolean =>
  numbers.has(number) || numbers.has(number - length - 1)

function matchesWeekday(rule: Recurrence, date: CalendarDay): boolean {
  if (rule.weekdays.size === 0) return true
  const ordinals = rule.weekdays.get(date.weekday)
  if (!ordinals || ordinals.has(0)) return ordinals !== undefined
  const isOfYear = rule.frequency === 'YEARLY' && rule.months.size === 0
  const [number, length] = isOfYear ? [date.yearDay, date.yearLength] : [date.monthDay, date.monthLength]
  return ordinals.has(Math.ceil(number / 7)) || ordinals.has(-Math.ceil((length - number + 1) / 7))
}

/** Returns the number of the week and how many the year has. */
function weekOf({ day, weekday }: CalendarDay, weekStart: number): [number: number, weeks: number] {
  const start = day - daysSince(weekStart, weekday)
  const { year } = dateOf(start + 3)
  const begin = weekOne(year, weekStart)
  return [(start - begin) / 7 + 1, (weekOne(year + 1, weekStart) - begin) / 7]
}

/** The first day of the first week that has at least four days in the year. */
function weekOne(year: number, weekStart: number): number {
  const fourth = dayOf(year, 1, 4)
  return fourth - daysSince(weekStart, dateOf(fourth).weekday)
}

function atPositions(days: readonly number[], positions: ReadonlySet<number>): readonly number[] {
  if (positions.size === 0) return days
  return days.filter((_, index) => hasEither(positions, index + 1, days.length))
}

type CalendarDay = {
  day: number
  year: number
  month: number
  monthDay: number
  monthLength: number
  weekday: number
  yearDay: number
  yearLength: number
}

function dateOf(day: number): CalendarDay {
  const date = new Date(day * DAY_MS)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + 1]
  const [firstOfYear, firstOfMonth] = [dayOf(year, 1, 1), dayOf(year, month, 1)]
  return {
    day,
    year,
    month,
    monthDay: date.getUTCDate(),
    monthLength: dayOf(year, month + 1, 1) - firstOfMonth,
    weekday: (date.getUTCDay() + 6) % 7,
    yearDay: day - firstOfYear + 1,
    yearLength: dayOf(year + 1, 1, 1) - firstOfYear,
  }
}

/** Months beyond 12 continue in the next year. */
const dayOf = (year: number, month: number, monthDay: number): number => Date.UTC(year, month - 1, monthDay) / DAY_MS
