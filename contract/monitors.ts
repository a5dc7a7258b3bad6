import { type Static, Type } from 'typebox'
import { IncludeParameter, Instant, SET_BY_SERVER, StrictObject } from './common.ts'
import { Diagnosis } from './diagnosis.ts'
import { Difference } from './difference.ts'
import { changedLabels, ExternalId, newLabels, responseLabels } from './labels.ts'
import { VerdictReasonAnswer } from './reasons.ts'
import { RECORD_TYPES } from './record-types.ts'
import { SetupKey, WAIT_HOURS, Wait } from './setup-pages.ts'

export const STATES = ['UNSET', 'VALID', 'INVALID', 'TIMEOUT', 'MISMATCH', 'NOT_FOUND', 'NO_DATA', 'BAD_SETUP'] as const
export const NOTIFY = ['immediately', 'on_success', 'after_success'] as const
const NOTIFY_DESCRIPTION =
  'Which changes are delivered. `immediately`: every change. `on_success`: changes to VALID. `after_success`: changes from VALID to another state.'

const RECORD_TYPES_DESCRIPTION = `${RECORD_TYPES.slice(RECORD_TYPES.indexOf('SRV')).join(', ')} are additions of Zonewatch.`

export type MonitorState = (typeof STATES)[number]
export type Notify = (typeof NOTIFY)[number]

export const Monitor = StrictObject(
  {
    id: Type.String({ description: 'Begins with `mon_`.', examples: ['mon_01kaj3x7v8q2n5m4r6t9w0y1zb'] }),
    created: Instant('When the monitor was created.'),
    domain: Type.String({ examples: ['example.com'] }),
    subdomain: Type.String({
      description: 'The part of the name before `domain`. Empty for the apex.',
      examples: ['www'],
    }),
    record_type: Type.Enum(RECORD_TYPES, { type: 'string', description: RECORD_TYPES_DESCRIPTION }),
    expected_value: Type.Array(Type.String(), { examples: [['192.0.2.1']] }),
    // A list of types instead of a union of schemas, so that the serializer need not try each.
    current_value: Type.Unsafe<string[] | null>({
      type: ['array', 'null'],
      items: Type.String(),
      description: 'The values of the last check that got an answer; null before the first answer.',
    }),
    is_exact_match: Type.Boolean({
      description: 'Whether the records must be exactly the expected values, without others.',
    }),
    state: Type.Enum(STATES, { type: 'string', description: 'The result of the last confirmed check.' }),
    incidence_count: Type.Integer({ description: 'The number of recorded changes.' }),
    last_checked: Type.Unsafe<string | null>({ ...Instant('When the last check ended.'), type: ['string', 'null'] }),
    is_active: Type.Boolean({ description: 'Whether the monitor is checked.' }),
    notify: Type.Enum(NOTIFY, { type: 'string', description: NOTIFY_DESCRIPTION }),
  },
  { description: 'A DNS record that is checked, and its expected values.' },
)
export type Monitor = Static<typeof Monitor>

const example: Monitor = {
  id: 'mon_01kaj3x7v8q2n5m4r6t9w0y1zb',
  created: '2026-11-20T08:00:00.000Z',
  domain: 'example.com',
  subdomain: 'www',
  record_type: 'A',
  expected_value: ['192.0.2.1'],
  current_value: ['192.0.2.99'],
  is_exact_match: true,
  state: 'MISMATCH',
  incidence_count: 2,
  last_checked: '2026-11-21T09:30:00.000Z',
  is_active: true,
  notify: 'immediately',
}

export const RESOLUTIONS = ['auto', 'public', 'resolvers'] as const
export type Resolution = (typeof RESOLUTIONS)[number]
const resolution = Type.Enum(RESOLUTIONS, {
  type: 'string',
  description:
    'Whose answers the monitor is about: `public`, what the public DNS publishes; `resolvers`, what the resolvers of the server answer; `auto`, the public DNS, unless all resolvers demonstrably see another zone (split horizon). Default: `auto`. A change resets the state to UNSET.',
})

/** The fields that `?include=…` adds to a monitor. */
export const INCLUDES = [
  'frequency',
  'resolution',
  'group',
  'external_id',
  'tags',
  'metadata',
  'reason',
  'difference',
  'diagnosis',
  'wait',
] as const
export const MonitorResponse = Type.Object(
  {
    ...Monitor.properties,
    frequency: Type.Optional(Type.Integer({ description: 'Minutes between two checks.' })),
    resolution: Type.Optional(resolution),
    group: Type.Optional(Type.String({ description: "The group's slug." })),
    ...responseLabels,
    reason: Type.Optional(
      Type.Union([VerdictReasonAnswer, Type.Null()], {
        description:
          'Why the monitor is in this state, as a code with parameters; null until a check has ended. With `?include=reason`.',
      }),
    ),
    difference: Type.Optional(
      Type.Union([Difference, Type.Null()], {
        description:
          'What is different from the expected values; null if no values are known. With `?include=difference`.',
      }),
    ),
    diagnosis: Type.Optional(
      Type.Union([Diagnosis, Type.Null()], {
        description: 'The evidence behind `state`; null until a check has ended. With `?include=diagnosis`.',
      }),
    ),
    wait: Type.Optional(
      Type.Union([Wait, Type.Null()], {
        description:
          'Whether the monitor waits for its expected records, and the public page for the customer; null without `until`. With `?include=wait`, and in the response to a request with `until`.',
      }),
    ),
  },
  { title: 'Monitor', additionalProperties: false, examples: [example] },
)
export type MonitorResponse = Static<typeof MonitorResponse>

export const Include = IncludeParameter(INCLUDES, 'frequency,group')

const subdomain = Type.String({
  maxLength: 255,
  description: 'The part of the name before `domain`. Empty for the apex.',
})
const notify = Type.Enum(NOTIFY, {
  type: 'string',
  description: `${NOTIFY_DESCRIPTION} Default: \`immediately\`.`,
})
const frequency = Type.Integer({
  minimum: 5,
  maximum: 120,
  description: 'Minutes between two checks. Default: 5, or the minimum of the plan.',
})
const group = Type.String({
  description: 'The id or slug of a group. An unknown slug creates the group.',
  minLength: 1,
  maxLength: 100,
})

const until = Type.Enum(['valid'], {
  type: 'string',
  description: `\`valid\`: Zonewatch runs quick checks until the expected records exist, and reports if they do not after ${WAIT_HOURS} hours. The response has a public link in \`wait.setup_page.url\`.`,
})
const setup_page = Type.Unsafe<string>({
  ...SetupKey,
  description:
    'With `until`: a key of your own for the public page, such as the id of your customer. Monitors with the same key share one page. Default: a page for this monitor alone.',
})

// Without defaults: an absent field has another meaning in a change and in a bulk request.
const fields = {
  domain: Type.Optional(Type.String({ maxLength: 255, description: 'The domain. Alternatively, send `full_domain`.' })),
  subdomain: Type.Optional(subdomain),
  full_domain: Type.Optional(
    Type.String({
      maxLength: 512,
      description: 'The full name. It is split at the registrable domain, and `domain` and `subdomain` are ignored.',
    }),
  ),
  record_type: Type.Enum(RECORD_TYPES, { type: 'string', description: RECORD_TYPES_DESCRIPTION }),
  expected_value: Type.Union([Type.Array(Type.String()), Type.String()], {
    description: '1 to 10 values, or one value as a string.',
    examples: [['192.0.2.1']],
  }),
  is_exact_match: Type.Optional(
    Type.Boolean({
      description:
        'Whether other records than the expected ones are a mismatch. With false, the rules of the record type apply. Default: true.',
    }),
  ),
  is_active: Type.Optional(Type.Boolean({ description: 'Whether the monitor is checked. Default: true.' })),
  notify: Type.Optional(notify),
  frequency: Type.Optional(frequency),
  resolution: Type.Optional(resolution),
  group: Type.Optional(group),
  until: Type.Optional(until),
  setup_page: Type.Optional(setup_page),
  ...newLabels,
}

const SET_BY_CHECKS = 'is set by checks. Leave it out. To start a check, use POST /monitors/{monitor}/check.'
const readOnlyFields = {
  id: SET_BY_SERVER,
  created: SET_BY_SERVER,
  current_value: SET_BY_CHECKS,
  state: SET_BY_CHECKS,
  incidence_count: SET_BY_CHECKS,
  last_checked: SET_BY_CHECKS,
  reason: SET_BY_CHECKS,
  difference: SET_BY_CHECKS,
  diagnosis: SET_BY_CHECKS,
  wait: 'is shown only. Use `until`.',
  webhooks: 'belong to the group of the monitor. Use PATCH /groups/{group}.',
}

export const NewMonitor = StrictObject(fields, {
  title: 'NewMonitor',
  'x-elsewhere': readOnlyFields,
  examples: [
    { domain: 'example.com', subdomain: 'www', record_type: 'A', expected_value: ['192.0.2.1'], frequency: 10 },
  ],
})
export type NewMonitor = Static<typeof NewMonitor>

export const MAX_BULK_MONITORS = 1_000

/** `group`, `notify`, `frequency` and `resolution` are defaults for the items. */
export const NewMonitors = StrictObject(
  {
    monitors: Type.Array(NewMonitor, { minItems: 1, maxItems: MAX_BULK_MONITORS, description: '1 to 1000 monitors.' }),
    group: Type.Optional(group),
    notify: Type.Optional(notify),
    frequency: Type.Optional(frequency),
    resolution: Type.Optional(resolution),
    ignore: Type.Optional(
      Type.Boolean({
        description:
          'Whether to skip items that already exist: same name, type, expected values and mode in the same group. Default: false.',
      }),
    ),
    on_conflict: Type.Optional(
      Type.Enum(['ignore', 'update'], {
        type: 'string',
        description:
          '`ignore`: skips items that already exist, as `ignore` does, and items whose external id is taken. `update`: every item needs an `external_id`; the monitor that has it is changed as by PUT /monitors/external/{external_id}. The response then has a monitor for each item, the new or the existing one, and its status is 200 if none is new.',
      }),
    ),
  },
  {
    title: 'NewMonitors',
    examples: [
      {
        group: 'production',
        monitors: [
          { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'] },
          { domain: 'example.com', record_type: 'MX', expected_value: ['10 mail.example.com'] },
        ],
      },
    ],
  },
)
export type NewMonitors = Static<typeof NewMonitors>

/** An absent field keeps its value. */
export const MonitorChange = StrictObject(
  {
    ...fields,
    subdomain: Type.Optional(
      Type.Union([subdomain, Type.Null()], {
        description: 'The part of the name before `domain`. Empty or null for the apex.',
      }),
    ),
    record_type: Type.Optional(fields.record_type),
    expected_value: Type.Optional(fields.expected_value),
    until: Type.Optional(
      Type.Union([until, Type.Null()], {
        description:
          '`valid`: starts or restarts the wait, and creates a public page if there is none. Null: stops waiting.',
      }),
    ),
    ...changedLabels,
  },
  {
    title: 'MonitorChange',
    examples: [{ expected_value: ['192.0.2.2'], notify: 'after_success' }],
    'x-elsewhere': readOnlyFields,
  },
)
export type MonitorChange = Static<typeof MonitorChange>

/** Creates the monitor, or updates the one with the external id in the path. */
export const MonitorUpsert = StrictObject(
  { ...fields, ...changedLabels, external_id: Type.Optional(ExternalId) },
  {
    title: 'MonitorUpsert',
    'x-elsewhere': readOnlyFields,
    examples: [{ full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'], tags: ['prod'] }],
  },
)
export type MonitorUpsert = Static<typeof MonitorUpsert>

/** Updates all monitors of a group. */
export const GroupMonitorsChange = StrictObject(
  {
    frequency: Type.Optional(frequency),
    is_active: Type.Optional(Type.Boolean({ description: 'Whether the monitors are checked.' })),
    notify: Type.Optional(notify),
  },
  {
    title: 'GroupMonitorsChange',
    examples: [{ frequency: 30 }],
    'x-elsewhere': Object.fromEntries(
      [
        'domain',
        'subdomain',
        'full_domain',
        'record_type',
        'expected_value',
        'is_exact_match',
        'group',
        'external_id',
        'tags',
        'metadata',
      ].map((name) => [name, 'cannot be changed for a whole group. Use PATCH /monitors/{monitor}.']),
    ),
  },
)
export type GroupMonitorsChange = Static<typeof GroupMonitorsChange>
