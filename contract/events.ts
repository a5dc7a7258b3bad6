import { type Static, Type } from 'typebox'
import { Exactly, Instant, pageQuery, TimeFilter } from './common.ts'
import { RECORD_TYPES, STATES } from './monitors.ts'

export const Event = Exactly(
  {
    id: Type.String({ description: 'Begins with `evt_`.' }),
    monitor_id: Type.String({ description: 'Begins with `mon_`.' }),
    occurred: Instant('When the change was confirmed.'),
    previous_value: Type.Optional(Type.Array(Type.String(), { description: 'Left out where nothing was known.' })),
    current_value: Type.Optional(Type.Array(Type.String(), { description: 'Left out where nothing was learned.' })),
    old_state: Type.Enum(STATES, { type: 'string' }),
    new_state: Type.Enum(STATES, { type: 'string' }),
    incidence_count: Type.Integer({ description: 'How many checks in a row found new_state, this one included.' }),
    domain: Exactly(
      {
        domain: Type.String(),
        subdomain: Type.String(),
        record_type: Type.Enum(RECORD_TYPES, { type: 'string' }),
        expected_value: Type.Array(Type.String()),
        is_exact_match: Type.Boolean(),
      },
      { description: 'The monitor as it was then.' },
    ),
  },
  { title: 'Event', description: 'A confirmed change.' },
)
export type Event = Static<typeof Event>

/** What one Event adds when it is asked to `?include=diagnosis`. */
export const EventAnswer = Type.Object(
  {
    ...Event.properties,
    diagnosis: Type.Optional(
      Type.Unknown({
        description: 'The evidence behind `new_state`; null where none is kept. With `?include=diagnosis`.',
      }),
    ),
  },
  { title: 'EventDetails', additionalProperties: false },
)
export type EventAnswer = Static<typeof EventAnswer>

export const OneEventQuery = Exactly({
  include: Type.Optional(Type.Enum(['diagnosis'], { description: 'Adds the evidence.' })),
})

export const eventFilters = {
  occurred_before: Type.Optional(TimeFilter('Only events before this time.')),
  occurred_after: Type.Optional(TimeFilter('Only events after this time.')),
  old_state: Type.Optional(Type.Enum(STATES, { description: 'Only events that left this state.' })),
  new_state: Type.Optional(Type.Enum(STATES, { description: 'Only events that led to this state.' })),
}
export const MonitorEventQuery = Exactly({ ...pageQuery(['occurred']), ...eventFilters })
export const EventQuery = Exactly({
  ...pageQuery(['occurred']),
  ...eventFilters,
  group: Type.Optional(Type.String({ description: 'Slug or id of a group.', maxLength: 100 })),
  monitor_id: Type.Optional(Type.String({ description: 'Only events of this monitor.', maxLength: 40 })),
})
export type EventQuery = Static<typeof EventQuery>

/** What a webhook receives. */
export const Delivery = Exactly(
  {
    id: Type.String({
      description: 'Id of this request (`req_…`), the same over all attempts; use it for de-duplication.',
    }),
    webhook_id: Type.String(),
    event: Event,
    created: Instant('When the request was made.'),
  },
  { title: 'Delivery' },
)
export type Delivery = Static<typeof Delivery>
