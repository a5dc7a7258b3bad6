import fc from 'fast-check'
import { RRuleTemporal } from 'rrule-temporal'
import { describe, expect, test } from 'vitest'
import { HORIZON_DAYS, parseRecurrence, recurringDays } from './recurrence.ts'

const DAY_MS = 24 * 60 * 60_000
const dayOf = (date: string) => Date.parse(date) / DAY_MS
const toDate = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10)

function occurrences(rule: string, { first, from = first, max = 12 }: { first: string; from?: string; max?: number }) {
  const steps = { taken: 0 }
  const days: string[] = []
  const found = recurringDays(parseRecurrence(rule)!, { first: dayOf(first), from: dayOf(from), steps })
  for (const day of found) {
    days.push(toDate(day))
    if (days.length === max) break
  }
  return { days, steps: steps.taken }
}

/** The examples of RFC 5545 section 3.8.5.3 that have no times of day. */
test.each([
  ['FREQ=DAILY;INTERVAL=10;COUNT=5', '1997-09-02', '1997-09-02 09-12 09-22 10-02 10-12'],
  [
    'FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH',
    '1997-09-02',
    '1997-09-02 09-04 09-16 09-18 09-30 10-02 10-14 10-16',
  ],
  ['FREQ=MONTHLY;COUNT=6;BYDAY=-2MO', '1997-09-22', '1997-09-22 10-20 11-17 12-22 1998-01-19 02-16'],
  ['FREQ=MONTHLY;COUNT=4;BYMONTHDAY=-3', '1997-09-28', '1997-09-28 10-29 11-28 12-29'],
  ['FREQ=MONTHLY;COUNT=4;BYMONTHDAY=1,-1', '1997-09-30', '1997-09-30 10-01 10-31 11-01'],
  ['FREQ=YEARLY;INTERVAL=3;COUNT=4;BYYEARDAY=1,100,200', '1997-01-01', '1997-01-01 04-10 07-19 2000-01-01'],
  ['FREQ=YEARLY;COUNT=3;BYDAY=20MO', '1997-05-19', '1997-05-19 1998-05-18 1999-05-17'],
  ['FREQ=YEARLY;COUNT=3;BYWEEKNO=20;BYDAY=MO', '1997-05-12', '1997-05-12 1998-05-11 1999-05-17'],
  ['FREQ=YEARLY;COUNT=4;BYMONTH=3;BYDAY=TH', '1997-03-13', '1997-03-13 03-20 03-27 1998-03-05'],
  ['FREQ=MONTHLY;COUNT=4;BYDAY=FR;BYMONTHDAY=13', '1997-09-02', '1998-02-13 03-13 11-13 1999-08-13'],
  [
    'FREQ=YEARLY;INTERVAL=4;COUNT=3;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8',
    '1996-11-05',
    '1996-11-05 2000-11-07 2004-11-02',
  ],
  ['FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3', '1997-09-04', '1997-09-04 10-07 11-06'],
  ['FREQ=MONTHLY;COUNT=3;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2', '1997-09-29', '1997-09-29 10-30 11-27'],
  ['FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO', '1997-08-05', '1997-08-05 08-10 08-19 08-24'],
  ['FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU', '1997-08-05', '1997-08-05 08-17 08-19 08-31'],
  ['FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5', '2007-01-15', '2007-01-15 01-30 02-15 03-15 03-30'],
])('%s from %s', (rule, first, expected) => {
  let year = ''
  const dates = expected.split(' ').map((date) => {
    if (date.length > 5) year = date.slice(0, 4)
    return `${year}-${date.slice(-5)}`
  })
  expect(occurrences(rule, { first }).days).toEqual(dates)
})

const list = (name: string, values: fc.Arbitrary<string | number>) =>
  fc.uniqueArray(values, { minLength: 1, maxLength: 3 }).map((chosen) => `${name}=${chosen.join()}`)
const signed = (max: number) => fc.integer({ min: -max, max }).filter((number) => number !== 0)
const weekday = fc.constantFrom('MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU')
const ordinalWeekday = fc.tuple(fc.constantFrom('1', '2', '-1', '5', '-5'), weekday).map((parts) => parts.join(''))
const optional = (part: fc.Arbitrary<string>) => fc.option(part, { nil: undefined })
const months = optional(list('BYMONTH', fc.integer({ min: 1, max: 12 })))
const monthDays = optional(list('BYMONTHDAY', signed(31)))
const weekdays = optional(list('BYDAY', weekday))
/** Not mixed: of MO,-1MO the library drops MO. */
const ordinalWeekdays = fc.oneof(list('BYDAY', weekday), list('BYDAY', ordinalWeekday))
const end = fc.constantFrom('INTERVAL=1', 'INTERVAL=2', 'INTERVAL=3', 'WKST=SU', 'COUNT=5', 'WKST=WE;COUNT=9')
const position = optional(list('BYSETPOS', signed(4)))
/** Only the combinations that RFC 5545 allows for each frequency. */
const rules = fc
  .oneof(
    fc.tuple(fc.constant('FREQ=DAILY'), months, monthDays, weekdays, end),
    fc.tuple(fc.constant('FREQ=WEEKLY'), months, weekdays, end),
    fc.tuple(fc.constant('FREQ=MONTHLY'), months, monthDays, optional(ordinalWeekdays), end, position),
    fc.tuple(fc.constant('FREQ=YEARLY'), months, monthDays, end),
    fc.tuple(fc.constant('FREQ=YEARLY'), months, ordinalWeekdays, end, position),
    fc.tuple(fc.constant('FREQ=YEARLY'), optional(list('BYYEARDAY', signed(366))), end),
    fc.tuple(fc.constant('FREQ=YEARLY'), list('BYWEEKNO', signed(53)), list('BYDAY', weekday), end),
  )
  .map((parts) => parts.filter((part) => part !== undefined).join(';'))

test('agrees with a library about rules that RFC 5545 allows', () => {
  fc.assert(
    fc.property(rules, fc.integer({ min: 0, max: 1_500 }), (rule, offset) => {
      const first = toDate(dayOf('2024-01-01') + offset)
      const expected: string[] = []
      const until = dayOf(first) + 5 * 366
      try {
        const rruleString = `DTSTART;TZID=UTC:${first.replaceAll('-', '')}T000000\nRRULE:${rule}`
        new RRuleTemporal({ rruleString, maxIterations: 4_000 }).all((date, index) => {
          const day = date.toPlainDate().toString()
          if (dayOf(day) <= until) expected.push(day)
          return index < 9 && dayOf(day) <= until
        })
      } catch (error) {
        if (!/maximum iterations/i.test((error as Error).message)) throw error
      }
      const { days } = occurrences(rule, { first, max: 10 })
      expect(days.filter((day) => dayOf(day) <= until)).toEqual(expected.slice(0, 10))
    }),
    { numRuns: 400 },
  )
})

const up = (max: number) => Array.from({ length: max }, (_, index) => index + 1).join()
const EVERY_DAY = 'BYDAY=MO,TU,WE,TH,FR,SA,SU'

/** A year or a week-year, whose last days may be beyond the horizon. */
const PERIOD_DAYS = 371

describe('the work of an expansion is bounded by days, whatever the rule says', () => {
  test.each([
    [`FREQ=YEARLY;BYWEEKNO=${up(53)};${EVERY_DAY};BYSETPOS=366`, 2],
    [`FREQ=YEARLY;BYWEEKNO=${up(53)};${EVERY_DAY};BYSETPOS=365,364`, 13],
    [`FREQ=YEARLY;${EVERY_DAY};BYSETPOS=-366`, 3],
    ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', 0],
    ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29', 3],
    ['FREQ=DAILY;BYMONTH=2;BYMONTHDAY=-30', 0],
    [`FREQ=MONTHLY;${EVERY_DAY};BYMONTHDAY=${up(31)};BYSETPOS=-366`, 0],
    ['FREQ=WEEKLY;BYMONTH=2;BYMONTHDAY=30', 0],
    ['FREQ=YEARLY;INTERVAL=1000', 1],
  ])('%s', (rule, expected) => {
    const { days, steps } = occurrences(rule, { first: '2026-01-01', max: 1_000 })
    expect(days).toHaveLength(expected)
    expect(steps).toBeLessThanOrEqual(HORIZON_DAYS + PERIOD_DAYS)
  })

  test('a rule without COUNT is looked at from the asked day on', () => {
    const { days, steps } = occurrences('FREQ=DAILY', { first: '1970-01-01', from: '2026-11-26', max: 3 })
    expect(days).toEqual(['2026-11-26', '2026-11-27', '2026-11-28'])
    expect(steps).toBeLessThan(10)
  })
})

test.each([
  ...['FREQ=SECONDLY', 'FREQ=HOURLY', 'FREQ=DAILY;BYHOUR=1,2', 'FREQ=DAILY;COUNT=999', 'FREQ=DAILY;INTERVAL=9999'],
  ...['FREQ=DAILY;FREQ=DAILY', 'DAILY', '', 'FREQ=DAILY\nEXDATE:20260101', 'FREQ=DAILY;COUNT=1;UNTIL=20300101'],
  ...['FREQ=DAILY;DTSTART=20200101', `FREQ=DAILY;BYMONTHDAY=${'1,'.repeat(90)}1`, 'FREQ=DAILY;X=1', 'INTERVAL=2'],
  ...['FREQ=DAILY;BYMONTH=13', 'FREQ=YEARLY;BYSETPOS=0', 'FREQ=YEARLY;BYYEARDAY=367', 'FREQ=YEARLY;BYSETPOS=999'],
])('%j is refused', (rule) => {
  expect(parseRecurrence(rule)).toBeUndefined()
})
