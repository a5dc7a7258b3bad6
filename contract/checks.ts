import { type Static, Type } from 'typebox'
import { Instant, Nullable, StrictObject, TimeFilter } from './common.ts'

export const ChecksQuery = StrictObject({
  since: Type.Optional(TimeFilter('Begin of the period. Default: 30 days before its end.')),
  until: Type.Optional(TimeFilter('End of the period. Default: now.')),
})
export type ChecksQuery = Static<typeof ChecksQuery>

const count = (description: string) => Type.Integer({ minimum: 0, description })

const gapFields = {
  since: Instant('The last check before the gap, or when the monitor was created or enabled.'),
  until: Nullable(
    Instant('The first check after the gap, or when the monitor was disabled. null: no check was made since.'),
  ),
  seconds: Type.Number({ description: 'The length. Of a gap without an end, until now.' }),
  missed: count('Checks that were not made, in the period.'),
  withheld: count('Checks without a result, in the period.'),
}
const Gap = StrictObject(gapFields, { title: 'CheckGap' })
const MonitorGap = StrictObject(
  { monitor_id: Type.String({ description: 'Identifier of the monitor.' }), ...gapFields },
  { title: 'MonitorCheckGap' },
)

const summaryFields = {
  since: Instant(
    'Begin of the period that the response is about: not before the monitor was created, gaps were recorded, and the retention of 400 days.',
  ),
  until: Instant('End of the period, at most now.'),
  tolerance_seconds: Type.Integer({ description: 'A check that begins more than this after it was due is late.' }),
  due: count('Checks that were due: one for each interval in which the monitor was enabled.'),
  done: count('Checks that were made before the next one was due.'),
  late: count('Of `done`: those that began late.'),
  missed: count('Checks that were not made, because Zonewatch or its database did not run or was too slow.'),
  withheld: count('Checks without a result: the own network had failed, or too many queries were waiting.'),
  gap_count: count('Times between two checks in which one was late, missed or withheld.'),
}
const EXAMPLE_PERIOD = { since: '2026-10-22T00:00:00.000Z', until: '2026-11-21T00:00:00.000Z', tolerance_seconds: 5 }
const EXAMPLE_GAP = {
  ...{ since: '2026-11-02T14:02:11.000Z', until: '2026-11-02T14:31:04.000Z', seconds: 1733 },
  ...{ missed: 5, withheld: 0 },
}

export const MonitorChecks = StrictObject(
  {
    ...summaryFields,
    last_checked: Nullable(Instant('The last check, also after the period.')),
    longest_gap: Nullable(Gap),
    gaps: Type.Array(Gap, { description: 'The newest 100, the newest first.' }),
  },
  {
    title: 'MonitorChecks',
    examples: [
      {
        ...EXAMPLE_PERIOD,
        ...{ due: 8640, done: 8635, late: 1, missed: 5, withheld: 0, gap_count: 1 },
        ...{ last_checked: '2026-11-21T09:30:00.000Z', longest_gap: EXAMPLE_GAP, gaps: [EXAMPLE_GAP] },
      },
    ],
  },
)
export type MonitorChecks = Static<typeof MonitorChecks>

const EXAMPLE_MONITOR_GAP = { monitor_id: 'mon_01kahv4gd2fa3tn2vgy8v0dm5q', ...EXAMPLE_GAP }

export const OrganizationChecks = StrictObject(
  {
    ...summaryFields,
    monitors: count('The monitors of the organization. Deleted ones are not counted.'),
    longest_gap: Nullable(MonitorGap),
    gaps: Type.Array(MonitorGap, { description: 'The newest 100 of all monitors, the newest first.' }),
  },
  {
    title: 'OrganizationChecks',
    examples: [
      {
        ...EXAMPLE_PERIOD,
        ...{ due: 86400, done: 86395, late: 1, missed: 5, withheld: 0, gap_count: 1 },
        ...{ monitors: 10, longest_gap: EXAMPLE_MONITOR_GAP, gaps: [EXAMPLE_MONITOR_GAP] },
      },
    ],
  },
)
export type OrganizationChecks = Static<typeof OrganizationChecks>
