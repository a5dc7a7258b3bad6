import { type Static, Type } from 'typebox'
import { Instant, Nullable, StrictObject } from './common.ts'
import { STATES } from './monitors.ts'

/** What a second of a day can be: in a state, or without a check. Seconds of which nothing is known are none of these. */
export const DAY_PARTS = [...STATES, 'PAUSED', 'NOT_CHECKED'] as const
export type DayPart = (typeof DAY_PARTS)[number]

/** Days for which states are kept. */
export const MAX_UPTIME_DAYS = 400
/** Monitors of one request. */
export const MAX_UPTIME_MONITORS = 100

const days = (defaultDays: number, maximum: number) =>
  Type.Integer({
    minimum: 1,
    maximum,
    default: defaultDays,
    description: `Days (UTC), of which the last is today. Default: ${defaultDays}, at most ${maximum}.`,
  })
export const UptimeQuery = StrictObject({ days: Type.Optional(days(90, MAX_UPTIME_DAYS)) })
export type UptimeQuery = Static<typeof UptimeQuery>
export const UptimesQuery = StrictObject({
  ids: Type.String({
    minLength: 1,
    maxLength: 40 * MAX_UPTIME_MONITORS,
    description: `Comma-separated ids of at most ${MAX_UPTIME_MONITORS} monitors. Others than those of the organization are left out.`,
    examples: ['mon_01kahv4gd2fa3tn2vgy8v0dm5q'],
  }),
  days: Type.Optional(days(30, 90)),
})

const Seconds = Type.Record(Type.String(), Type.Number({ minimum: 0 }), {
  description: `By state, \`PAUSED\` (disabled) or \`NOT_CHECKED\` (nobody looked). What is 0 is left out. What is missing to 86,400 is not known: it is in the future, or before the monitor was created or its states were recorded. Parts: ${DAY_PARTS.join(', ')}.`,
})

const UptimeDay = StrictObject(
  { date: Type.String({ format: 'date', description: 'The day in UTC.' }), seconds: Seconds },
  { title: 'UptimeDay' },
)
export type UptimeDay = Static<typeof UptimeDay>

const fields = {
  since: Instant('Begin of the first day.'),
  until: Instant('Now.'),
  valid_percent: Nullable(
    Type.Number({
      description:
        'Of the seconds with a known state, those that were VALID, rounded down to four decimals. Time that is UNSET, disabled or not checked does not count. null while less than a day is known.',
    }),
  ),
  known_seconds: Type.Number({ description: 'The seconds that count: with a state other than UNSET.' }),
  days: Type.Array(UptimeDay, { description: 'The oldest first. The last is today.' }),
}
const EXAMPLE = {
  ...{ since: '2026-11-20T00:00:00.000Z', until: '2026-11-21T09:30:00.000Z' },
  ...{ valid_percent: 97.7612, known_seconds: 120_600 },
  days: [
    { date: '2026-11-20', seconds: { VALID: 83_700, MISMATCH: 2_700 } },
    { date: '2026-11-21', seconds: { VALID: 34_200 } },
  ],
}

export const Uptime = StrictObject(fields, { title: 'Uptime', examples: [EXAMPLE] })
export type Uptime = Static<typeof Uptime>

/** Of the monitors of a group or a zone. */
export const UptimeOfMonitors = StrictObject(
  {
    monitors: Type.Integer({ minimum: 0, description: 'How many monitors it has now. The seconds are their sums.' }),
    ...fields,
  },
  { title: 'UptimeOfMonitors', examples: [{ monitors: 1, ...EXAMPLE }] },
)
export type UptimeOfMonitors = Static<typeof UptimeOfMonitors>

const UptimeOfMonitor = StrictObject(
  { monitor_id: Type.String({ description: 'Identifier of the monitor.' }), ...fields },
  { title: 'UptimeOfMonitor' },
)
export const Uptimes = StrictObject(
  { data: Type.Array(UptimeOfMonitor, { description: 'In the order of `ids`.' }) },
  { title: 'Uptimes', examples: [{ data: [{ monitor_id: 'mon_01kahv4gd2fa3tn2vgy8v0dm5q', ...EXAMPLE }] }] },
)
export type Uptimes = Static<typeof Uptimes>
