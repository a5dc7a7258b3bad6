import { type Static, Type } from 'typebox'
import { Instant, Name, Nullable, ONE_LINE, pageQuery, SET_BY_SERVER, StrictObject, Time } from './common.ts'

const MAX_FILTER_VALUES = 100

const filters = {
  monitors: Nullable(
    Type.Array(Type.String({ minLength: 1, maxLength: 40 }), {
      minItems: 1,
      maxItems: MAX_FILTER_VALUES,
      description: 'Only these monitors (`mon_…`). Null: every monitor.',
    }),
  ),
  groups: Nullable(
    Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      minItems: 1,
      maxItems: MAX_FILTER_VALUES,
      description: 'Only monitors in these groups: ids (`grp_…`) or slugs. Null: every group.',
    }),
  ),
  name_pattern: Nullable(
    Type.String({
      minLength: 1,
      maxLength: 253,
      pattern: ONE_LINE,
      description: 'Only names like this; `*` stands for any characters: `*.example.com`. Null: every name.',
    }),
  ),
}
const rrule = Nullable(
  Type.String({
    minLength: 1,
    maxLength: 500,
    pattern: ONE_LINE,
    description:
      'How the window recurs: a rule of RFC 5545 with `FREQ` DAILY, WEEKLY, MONTHLY or YEARLY, such as `FREQ=WEEKLY;BYDAY=SU`. Null: once.',
  }),
)
const timezone = Type.String({
  minLength: 1,
  maxLength: 64,
  description:
    'The IANA time zone of the recurrence: the window keeps its local time when daylight saving time begins or ends. Default: the time zone of the organization.',
})

const exampleSchedule = {
  from: '2026-11-22T01:00:00.000Z',
  to: '2026-11-22T03:00:00.000Z',
  rrule: 'FREQ=WEEKLY;BYDAY=SU',
  timezone: 'Europe/Berlin',
}
const exampleWindow = { name: 'Weekly updates', monitors: null, groups: null, name_pattern: '*.example.com' }

const Period = StrictObject({ from: Instant('When it begins.'), to: Instant('When it ends.') })

export const MaintenanceWindow = StrictObject(
  {
    id: Type.String({ description: 'Begins with `mnt_`.' }),
    created: Instant('When the window was created.'),
    name: Type.String(),
    monitors: Nullable(Type.Array(Type.String())),
    groups: Nullable(Type.Array(Type.String())),
    name_pattern: Nullable(Type.String()),
    from: Instant('When it begins, the first time.'),
    to: Instant('When it ends, the first time.'),
    rrule: Nullable(Type.String()),
    timezone: Type.String(),
    is_active: Type.Boolean({ description: 'Whether alerts of its monitors wait now.' }),
    occurrences: Type.Array(Period, {
      description: 'The current occurrence and the next ones, at most 3. None: the window has ended.',
    }),
  },
  {
    title: 'MaintenanceWindow',
    description: 'A period in which alerts wait. Checks, events and webhooks continue.',
    examples: [
      {
        id: 'mnt_01kaj3x7v8q2n5m4r6t9w0y1zb',
        created: '2026-11-20T08:00:00.000Z',
        ...exampleWindow,
        ...exampleSchedule,
        is_active: false,
        occurrences: [{ from: '2026-11-22T01:00:00.000Z', to: '2026-11-22T03:00:00.000Z' }],
      },
    ],
  },
)
export type MaintenanceWindow = Static<typeof MaintenanceWindow>

const fixed = {
  id: SET_BY_SERVER,
  created: SET_BY_SERVER,
  is_active: SET_BY_SERVER,
  occurrences: SET_BY_SERVER,
}

export const NewMaintenanceWindow = StrictObject(
  {
    name: Name,
    monitors: Type.Optional(filters.monitors),
    groups: Type.Optional(filters.groups),
    name_pattern: Type.Optional(filters.name_pattern),
    from: Time('When it begins, the first time.'),
    to: Time('When it ends, the first time. At most 31 days later, or 7 days with `rrule`.'),
    rrule: Type.Optional(rrule),
    timezone: Type.Optional(timezone),
  },
  {
    title: 'NewMaintenanceWindow',
    examples: [{ ...exampleWindow, ...exampleSchedule }],
    'x-elsewhere': fixed,
  },
)
export type NewMaintenanceWindow = Static<typeof NewMaintenanceWindow>

export const MaintenanceWindowChange = Type.Partial(NewMaintenanceWindow, {
  additionalProperties: false,
  title: 'MaintenanceWindowChange',
  description: 'Fields you leave out keep their values.',
  examples: [{ name: 'Updates' }],
  'x-elsewhere': fixed,
})
export type MaintenanceWindowChange = Partial<NewMaintenanceWindow>

export const MaintenanceWindowQuery = StrictObject({
  ...pageQuery('MaintenanceWindowOrder', ['created']),
  is_active: Type.Optional(Type.Boolean({ description: 'Only windows that are active now (true), or not (false).' })),
  monitor_id: Type.Optional(
    Type.String({ maxLength: 40, description: 'Only windows that have not ended and include this monitor.' }),
  ),
})
export type MaintenanceWindowQuery = Static<typeof MaintenanceWindowQuery>
