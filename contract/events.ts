import { type Static, Type } from 'typebox'
import { MAX_BATCH_EVENTS } from './batches.ts'
import { firstExample, IncludeParameter, Instant, pageQuery, StrictObject, TimeFilter } from './common.ts'
import { Diagnosis } from './diagnosis.ts'
import { Difference } from './difference.ts'
import { STATES } from './monitors.ts'
import { VerdictReasonAnswer } from './reasons.ts'
import { RECORD_TYPES } from './record-types.ts'

export const Event = StrictObject(
  {
    id: Type.String({ description: 'Begins with `evt_`.' }),
    monitor_id: Type.String({ description: 'Begins with `mon_`.' }),
    occurred: Instant('When the change was confirmed.'),
    previous_value: Type.Optional(
      Type.Array(Type.String(), { description: 'The values before the change. Absent if none were known.' }),
    ),
    current_value: Type.Optional(
      Type.Array(Type.String(), {
        description: 'The values after the change. Absent after TIMEOUT, INVALID and BAD_SETUP.',
      }),
    ),
    truncated: Type.Optional(
      Type.Literal(true, {
        description: 'Present if values were shortened. All values together take at most 64 KiB of JSON.',
      }),
    ),
    timed_out: Type.Optional(
      Type.Literal(true, {
        description:
          'Present if nothing changed: the monitor was created with `until`, and its expected records did not appear in time. `old_state` and `new_state` are the same.',
      }),
    ),
    old_state: Type.Enum(STATES, { type: 'string' }),
    new_state: Type.Enum(STATES, { type: 'string' }),
    incidence_count: Type.Integer({
      description: 'The number of consecutive checks that found `new_state`, including this one.',
    }),
    domain: StrictObject(
      {
        domain: Type.String(),
        subdomain: Type.String(),
        record_type: Type.Enum(RECORD_TYPES, { type: 'string' }),
        expected_value: Type.Array(Type.String()),
        is_exact_match: Type.Boolean(),
      },
      { description: 'The configuration of the monitor at that time.' },
    ),
  },
  {
    title: 'Event',
    description: 'A confirmed change.',
    examples: [
      {
        id: 'evt_01kaj3x7v8q2n5m4r6t9w0y1zb',
        monitor_id: 'mon_01kaj3x7v8q2n5m4r6t9w0y1zb',
        occurred: '2026-11-21T09:30:00.000Z',
        previous_value: ['192.0.2.1'],
        current_value: ['192.0.2.99'],
        old_state: 'VALID',
        new_state: 'MISMATCH',
        incidence_count: 1,
        domain: {
          domain: 'example.com',
          subdomain: 'www',
          record_type: 'A',
          expected_value: ['192.0.2.1'],
          is_exact_match: true,
        },
      },
    ],
  },
)
export type Event = Static<typeof Event>

const reason = Type.Optional(
  Type.Union([VerdictReasonAnswer, Type.Null()], {
    description:
      'Why the monitor changed to `new_state`, as a code with parameters; null if none is stored. With `?include=reason`.',
  }),
)

const incident_id = Type.Optional(
  Type.Union([Type.String(), Type.Null()], {
    description:
      'The incident (`inc_…`) that the event belongs to; null if it belongs to none. With `?include=incident`.',
  }),
)
const difference = Type.Optional(
  Type.Union([Difference, Type.Null()], {
    description:
      'What was different from the expected values; null if no values are known. With `?include=difference`.',
  }),
)

const labels = Type.Optional(
  Type.Union(
    [
      StrictObject({
        external_id: Type.Union([Type.String(), Type.Null()]),
        tags: Type.Array(Type.String()),
        metadata: Type.Record(Type.String(), Type.String()),
      }),
      Type.Null(),
    ],
    {
      description:
        'The external id, tags and metadata that the monitor has now; null if it was deleted. With `?include=monitor`.',
    },
  ),
)

/** An event of a list, with the fields of `?include=`. */
export const ListedEvent = Type.Object(
  { ...Event.properties, reason, difference, incident_id, monitor: labels },
  { title: 'ListedEvent', additionalProperties: false, examples: [firstExample(Event)] },
)
export type ListedEvent = Static<typeof ListedEvent>

/** An event with the fields that `?include=…` adds. */
export const EventDetails = Type.Object(
  {
    ...Event.properties,
    reason,
    difference,
    incident_id,
    monitor: labels,
    diagnosis: Type.Optional(
      Type.Union([Diagnosis, Type.Null()], {
        description: 'The evidence behind `new_state`; null if none is stored. With `?include=diagnosis`.',
      }),
    ),
  },
  { title: 'EventDetails', additionalProperties: false, examples: [firstExample(Event)] },
)
export type EventDetails = Static<typeof EventDetails>

export const EVENT_INCLUDES = ['reason', 'difference', 'incident', 'monitor'] as const
export const EVENT_DETAILS_INCLUDES = [...EVENT_INCLUDES, 'diagnosis'] as const
export type EventInclude = (typeof EVENT_DETAILS_INCLUDES)[number]
const includeOf = (names: readonly EventInclude[]) => IncludeParameter(names, 'reason,monitor')

export const EventDetailsQuery = StrictObject({ include: includeOf(EVENT_DETAILS_INCLUDES) })

export const eventFilters = {
  occurred_before: Type.Optional(TimeFilter('Only events before this time.')),
  occurred_after: Type.Optional(TimeFilter('Only events after this time.')),
  old_state: Type.Optional(Type.Enum(STATES, { description: 'Only changes from this state.' })),
  new_state: Type.Optional(Type.Enum(STATES, { description: 'Only changes to this state.' })),
}
const include = includeOf(EVENT_INCLUDES)
export const MonitorEventQuery = StrictObject({
  ...pageQuery('MonitorEventOrder', ['occurred']),
  ...eventFilters,
  include,
})
export const EventQuery = StrictObject({
  ...pageQuery('EventOrder', ['occurred', 'recorded']),
  order_by: Type.Optional(
    Type.Enum<string[]>(['occurred', 'recorded'], {
      type: 'string',
      title: 'EventOrder',
      description: 'The field to order by. Default: `recorded` with `after_id`, otherwise `occurred`.',
    }),
  ),
  after_id: Type.Optional(
    Type.String({
      pattern: '^evt_[0-9a-z]{26}$',
      maxLength: 30,
      description:
        'the id of an event (`evt_…`). Returns the events recorded after it, in the order in which they were recorded, without gaps. Cannot be combined with other filters',
      examples: ['evt_01kaj3x7v8q2n5m4r6t9w0y1zb'],
    }),
  ),
  ...eventFilters,
  include,
  group: Type.Optional(
    Type.String({
      description:
        'Only events of monitors that were in this group when the event occurred. The slug or id of a group, or the id of a deleted group.',
      maxLength: 100,
    }),
  ),
  monitor_id: Type.Optional(Type.String({ description: 'Only events of this monitor.', maxLength: 40 })),
})
export type EventQuery = Static<typeof EventQuery>

const envelope = {
  id: Type.String({
    description: 'The id of this request (`req_…`), the same for all attempts. Use it to detect duplicates.',
  }),
  webhook_id: Type.String(),
  created: Instant('When the request was created.'),
}
const monitor = Type.Optional(
  StrictObject(
    {
      external_id: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      tags: Type.Optional(Type.Array(Type.String())),
      metadata: Type.Optional(Type.Record(Type.String(), Type.String())),
      group: Type.Optional(
        StrictObject({
          id: Type.String(),
          slug: Type.String(),
          name: Type.String(),
          external_id: Type.Union([Type.String(), Type.Null()]),
        }),
      ),
      reason: Type.Optional(Type.Union([VerdictReasonAnswer, Type.Null()])),
      difference: Type.Optional(Type.Union([Difference, Type.Null()])),
      setup_page: Type.Optional(
        Type.Union([
          StrictObject({
            id: Type.String(),
            key: Type.Union([Type.String(), Type.Null()]),
            is_done: Type.Boolean({ description: 'Whether all monitors of the page are VALID.' }),
          }),
          Type.Null(),
        ]),
      ),
    },
    {
      description:
        'The fields in `payload_includes` of the webhook, with their values when the event occurred. Absent if it has none.',
    },
  ),
)

/** The body of a webhook request. */
export const Delivery = StrictObject(
  { id: envelope.id, webhook_id: envelope.webhook_id, event: Event, created: envelope.created, monitor },
  {
    title: 'Delivery',
    examples: [
      {
        id: 'req_01kaj3x7v8q2n5m4r6t9w0y1zb',
        webhook_id: 'whk_01kaj3x7v8q2n5m4r6t9w0y1zb',
        event: firstExample(Event),
        created: '2026-11-21T09:30:00.000Z',
      },
    ],
  },
)
export type Delivery = Static<typeof Delivery>

/** The body of a request to a webhook with `batch`. */
export const DeliveryBatch = StrictObject(
  {
    id: envelope.id,
    webhook_id: envelope.webhook_id,
    events: Type.Array(StrictObject({ event: Event, monitor }), {
      minItems: 1,
      maxItems: MAX_BATCH_EVENTS,
      description:
        'The events, in the order in which they were recorded, each with what a request of its own would have.',
    }),
    created: envelope.created,
  },
  {
    title: 'DeliveryBatch',
    description: 'The body of a request of a webhook with `batch`.',
    examples: [
      {
        id: 'req_01kaj3x7v8q2n5m4r6t9w0y1zb',
        webhook_id: 'whk_01kaj3x7v8q2n5m4r6t9w0y1zb',
        events: [{ event: firstExample(Event) }],
        created: '2026-11-21T09:30:00.000Z',
      },
    ],
  },
)
export type DeliveryBatch = Static<typeof DeliveryBatch>
