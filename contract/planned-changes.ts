import { type Static, Type } from 'typebox'
import { Instant, Nullable, pageQuery, SET_BY_SERVER, StrictObject, Time } from './common.ts'

/** The longest period. */
export const MAX_PLAN_DAYS = 90

export const CHANGE_STATES = ['SCHEDULED', 'IN_PROGRESS', 'DONE', 'NOT_ARRIVED', 'CANCELED'] as const
const state = Type.Enum(CHANGE_STATES, {
  type: 'string',
  title: 'PlannedChangeState',
  description:
    '`SCHEDULED`: the period has not begun. `IN_PROGRESS`: the old values, the new ones and a mix of both are VALID. `DONE`: every server answers the new values. `NOT_ARRIVED`: the period ended before that. `CANCELED`: somebody changed what the monitor expects.',
})

const ServerAnswer = StrictObject({
  kind: Type.Enum(['name_server', 'resolver'], { type: 'string' }),
  server: Type.String({ description: 'The name of the name server, or the address of the resolver.' }),
  answer: Type.Enum(['old', 'new', 'mixed', 'other', 'none'], {
    type: 'string',
    description: 'Which values it answers. `none`: it gave no answer.',
  }),
  values: Type.Array(Type.String()),
  ttl: Nullable(Type.Integer({ description: 'Seconds. Of a resolver: for how much longer it keeps the answer.' })),
})

const Progress = StrictObject(
  {
    checked: Instant('When the servers were queried.'),
    servers: Type.Array(ServerAnswer, {
      description: "The zone's name servers (at most 13) and the resolvers of DNS_SERVERS (at most 8).",
    }),
    caches_until: Nullable(
      Instant(
        'When the old values expire in the last cache, by the TTLs seen. Null while a name server still answers them.',
      ),
    ),
  },
  { description: 'What the last check saw. Null before the first check of the period.' },
)

const exampleChange = {
  monitor_id: 'mon_01kaj3x7v8q2n5m4r6t9w0y1zb',
  new_value: ['192.0.2.2'],
  from: '2030-01-10T14:00:00.000Z',
  to: '2030-01-10T18:00:00.000Z',
}

export const PlannedChange = StrictObject(
  {
    id: Type.String({ description: 'Begins with `pch_`.' }),
    created: Instant('When the change was planned.'),
    created_by: Type.String({ description: 'The name of the person or API key that planned the change.' }),
    monitor_id: Type.String(),
    job_id: Nullable(Type.String({ description: 'The job that planned the change; null if a request did.' })),
    old_value: Type.Array(Type.String(), { description: 'What the monitor expected when the change was planned.' }),
    new_value: Type.Array(Type.String(), {
      description: 'What the monitor expects when the change is done, or its period is over.',
    }),
    from: Instant('When the period begins.'),
    to: Instant('When the period ends.'),
    state,
    closed: Nullable(Instant('When the change was done, did not arrive, or was canceled.')),
    progress: Nullable(Progress),
  },
  {
    title: 'PlannedChange',
    description: 'A record that moves from one set of values to another within a period.',
    examples: [
      {
        id: 'pch_01kaj3x7v8q2n5m4r6t9w0y1zb',
        created: '2030-01-08T09:30:00.000Z',
        created_by: 'Ada Example',
        ...exampleChange,
        job_id: null,
        old_value: ['192.0.2.1'],
        state: 'IN_PROGRESS',
        closed: null,
        progress: {
          checked: '2030-01-10T14:20:00.000Z',
          servers: [
            { kind: 'name_server', server: 'ns1.example.com', answer: 'new', values: ['192.0.2.2'], ttl: 300 },
            { kind: 'resolver', server: '192.0.2.53:53', answer: 'old', values: ['192.0.2.1'], ttl: 120 },
          ],
          caches_until: '2030-01-10T14:25:00.000Z',
        },
      },
    ],
  },
)
export type PlannedChange = Static<typeof PlannedChange>

const fields = {
  new_value: Type.Union(
    [Type.String({ maxLength: 1000 }), Type.Array(Type.String({ maxLength: 1000 }), { minItems: 1, maxItems: 10 })],
    { description: 'The values that the record moves to, as in `expected_value` of a monitor: 1 to 10.' },
  ),
  from: Time('When the period begins. Default: now.'),
  to: Time(`When the period ends: at most ${MAX_PLAN_DAYS} days after \`from\`.`),
}
const fixed = {
  id: SET_BY_SERVER,
  created: SET_BY_SERVER,
  created_by: SET_BY_SERVER,
  state: SET_BY_SERVER,
  closed: SET_BY_SERVER,
  progress: SET_BY_SERVER,
  job_id: SET_BY_SERVER,
  old_value: 'is what the monitor expects. Change it with PATCH /monitors/{monitor}.',
}

export const NewPlannedChange = StrictObject(
  {
    monitor_id: Type.String({ minLength: 1, maxLength: 40, description: 'The monitor (`mon_…`) of the record.' }),
    new_value: fields.new_value,
    from: Type.Optional(fields.from),
    to: fields.to,
  },
  { title: 'NewPlannedChange', examples: [exampleChange], 'x-elsewhere': fixed },
)
export type NewPlannedChange = Static<typeof NewPlannedChange>

export const PlannedChangeChange = StrictObject(
  {
    new_value: Type.Optional(fields.new_value),
    from: Type.Optional(fields.from),
    to: Type.Optional(fields.to),
  },
  {
    title: 'PlannedChangeChange',
    description: 'Fields you leave out keep their values.',
    examples: [{ to: '2030-01-10T20:00:00.000Z' }],
    'x-elsewhere': { ...fixed, monitor_id: 'cannot change. Delete the planned change and create another one.' },
  },
)
export type PlannedChangeChange = Static<typeof PlannedChangeChange>

const job_id = Type.Optional(Type.String({ maxLength: 40, description: 'Only changes that this job planned.' }))

export const PlannedChangeQuery = StrictObject({
  ...pageQuery('PlannedChangeOrder', ['created']),
  monitor_id: Type.Optional(Type.String({ maxLength: 40, description: 'Only changes of this monitor.' })),
  job_id,
  is_open: Type.Optional(Type.Boolean({ description: 'Only open changes (true), or only closed ones (false).' })),
})
export type PlannedChangeQuery = Static<typeof PlannedChangeQuery>

export const PlannedChangeCountsQuery = StrictObject({ job_id })
export type PlannedChangeCountsQuery = Static<typeof PlannedChangeCountsQuery>

export const PlannedChangeCounts = StrictObject(
  {
    total: Type.Integer({
      description: 'All planned changes that are stored. Closed ones are kept as long as events.',
    }),
    scheduled: Type.Integer({ description: 'The period has not begun.' }),
    in_progress: Type.Integer({ description: 'The period has begun, and the change is open.' }),
    done: Type.Integer({ description: 'Every server answered the new values.' }),
    not_arrived: Type.Integer({ description: 'The period ended before that.' }),
    canceled: Type.Integer({ description: 'Somebody canceled the change, or changed what the monitor expects.' }),
  },
  {
    title: 'PlannedChangeCounts',
    description: 'How many planned changes have each state.',
    examples: [{ total: 20_000, scheduled: 0, in_progress: 1_200, done: 18_790, not_arrived: 8, canceled: 2 }],
  },
)
export type PlannedChangeCounts = Static<typeof PlannedChangeCounts>
