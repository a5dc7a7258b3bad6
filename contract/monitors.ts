import { type Static, Type } from 'typebox'
import { Exactly, Instant, Nullable, pageQuery } from './common.ts'

export const RECORD_TYPES = ['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'PTR', 'SPF', 'CAA'] as const
export const STATES = ['UNSET', 'VALID', 'INVALID', 'TIMEOUT', 'MISMATCH', 'NOT_FOUND', 'NO_DATA', 'BAD_SETUP'] as const
export const NOTIFY = ['immediately', 'on_success', 'after_success'] as const

export type MonitorRecordType = (typeof RECORD_TYPES)[number]
export type MonitorState = (typeof STATES)[number]
export type Notify = (typeof NOTIFY)[number]

export const Monitor = Exactly(
  {
    id: Type.String({ description: 'Begins with `mon_`.', examples: ['mon_01kaj3x7v8q2n5m4r6t9w0y1zb'] }),
    created: Instant('When the monitor was made.'),
    domain: Type.String({ examples: ['example.com'] }),
    subdomain: Type.String({ description: 'Empty for the apex.', examples: ['www'] }),
    record_type: Type.Enum(RECORD_TYPES),
    expected_value: Type.Array(Type.String(), { examples: [['192.0.2.1']] }),
    current_value: Nullable(
      Type.Array(Type.String(), { description: 'What was last learned; null until something was.' }),
    ),
    is_exact_match: Type.Boolean(),
    state: Type.Enum(STATES),
    incidence_count: Type.Integer({ description: 'How many changes were recorded.' }),
    last_checked: Nullable(Instant('When the last check ended.')),
    is_active: Type.Boolean(),
    notify: Type.Enum(NOTIFY),
  },
  { description: 'One DNS record and what is expected of it.' },
)
export type Monitor = Static<typeof Monitor>

/** What a Monitor answer adds when it is asked to `?include=…`. */
export const INCLUDES = ['frequency', 'group', 'diagnosis'] as const
export const MonitorAnswer = Type.Object(
  {
    ...Monitor.properties,
    frequency: Type.Optional(Type.Integer({ description: 'Minutes between two checks.' })),
    group: Type.Optional(Type.String({ description: "The group's slug." })),
    diagnosis: Type.Optional(Type.Unknown({ description: 'The evidence behind `state`.' })),
  },
  { additionalProperties: false },
)
export type MonitorAnswer = Static<typeof MonitorAnswer>

export const Include = Type.Optional(
  Type.String({
    description: `Comma separated: ${INCLUDES.join(', ')}.`,
    maxLength: 100,
    examples: ['frequency,group'],
  }),
)

export const NewMonitor = Exactly({
  domain: Type.Optional(Type.String({ maxLength: 255, description: 'The domain; or give `full_domain`.' })),
  subdomain: Type.Optional(Type.String({ maxLength: 255, default: '', description: 'Empty for the apex.' })),
  full_domain: Type.Optional(
    Type.String({ maxLength: 512, description: 'The whole name; split at the registrable domain.' }),
  ),
  record_type: Type.Enum(RECORD_TYPES),
  expected_value: Type.Union([Type.Array(Type.String()), Type.String()], {
    description: '1 to 10 values, or one value as bare text.',
    examples: [['192.0.2.1']],
  }),
  is_exact_match: Type.Optional(Type.Boolean({ default: true })),
  is_active: Type.Optional(Type.Boolean({ default: true })),
  notify: Type.Optional(Type.Enum(NOTIFY, { default: 'immediately' })),
  frequency: Type.Optional(
    Type.Integer({ minimum: 5, maximum: 120, default: 5, description: 'Minutes between two checks.' }),
  ),
  group: Type.Optional(
    Type.String({
      description: 'Id or slug of a group; an unknown slug makes the group.',
      minLength: 1,
      maxLength: 100,
    }),
  ),
})
export type NewMonitor = Static<typeof NewMonitor>

export const monitorFilters = {
  group: Type.Optional(Type.String({ description: 'Slug or id of a group.', maxLength: 100 })),
  state: Type.Optional(Type.Enum(STATES)),
  domain: Type.Optional(Type.String({ maxLength: 255, description: 'Ignored when full_domain is given.' })),
  subdomain: Type.Optional(Type.String({ maxLength: 255, description: 'Ignored when full_domain is given.' })),
  full_domain: Type.Optional(
    Type.String({ maxLength: 512, description: 'Finds a monitor however its name was split.' }),
  ),
  record_type: Type.Optional(Type.Enum(RECORD_TYPES)),
  is_active: Type.Optional(Type.Boolean()),
}
export const MonitorQuery = Exactly({ ...pageQuery, ...monitorFilters, include: Include })
export type MonitorQuery = Static<typeof MonitorQuery>
