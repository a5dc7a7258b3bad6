import { type Static, Type } from 'typebox'
import { BATCH_DEFAULTS, MAX_BATCH_EVENTS, MAX_BATCH_WAIT_SECONDS } from './batches.ts'
import {
  firstExample,
  Instant,
  MAX_LIST_IDS,
  Nullable,
  pageQuery,
  SET_BY_SERVER,
  StrictObject,
  Time,
  TimeFilter,
} from './common.ts'
import { Delivery, DeliveryBatch } from './events.ts'
import { ZoneDelivery } from './zone-delivery.ts'

export const Webhook = StrictObject(
  {
    id: Type.String({ description: 'Begins with `whk_`.' }),
    created: Instant('When the webhook was created.'),
    url: Type.String({ examples: ['https://hooks.example.com/dns'] }),
    secret: Type.String({
      description:
        'The full secret when the webhook is created or the secret is rotated. Otherwise masked to the last 4 characters.',
    }),
    headers: Type.Record(Type.String(), Type.String(), {
      description: 'Headers that are sent with every request. Each value is masked to the last 4 characters.',
    }),
    groups: Type.Array(Type.String(), {
      description: 'The ids of groups (`grp_…`) whose changes the webhook receives.',
    }),
    is_active: Type.Boolean(),
    state: Type.Enum(['active', 'paused'], {
      description: '`paused` after the ninth retry of a request failed, until a request succeeds.',
    }),
    last_error: Nullable(Type.String()),
    last_executed: Nullable(Instant('When the last request was sent.')),
    payload_includes: Type.Optional(
      Type.Array(Type.String(), {
        description: 'The fields of `monitor` in the payload. Absent if there are none.',
      }),
    ),
    all_groups: Type.Optional(
      Type.Boolean({
        description:
          'True if the webhook receives the changes of all groups, not only of those in `groups`. Absent otherwise.',
      }),
    ),
    zone_events: Type.Optional(
      Type.Boolean({ description: 'True if the webhook receives changes of findings about zones. Absent otherwise.' }),
    ),
    batch: Type.Optional(
      StrictObject(
        { max_events: Type.Integer(), max_wait_seconds: Type.Integer() },
        { description: 'Present if the webhook receives several events in one request.' },
      ),
    ),
  },
  {
    title: 'Webhook',
    description: 'An HTTP endpoint that receives changes.',
    examples: [
      {
        id: 'whk_01kaj3x7v8q2n5m4r6t9w0y1zb',
        created: '2026-11-20T08:00:00.000Z',
        url: 'https://hooks.example.com/dns',
        secret: '********t9w0',
        headers: { 'X-Team': '********ture' },
        groups: ['grp_01kaj3x7v8q2n5m4r6t9w0y1zb'],
        is_active: true,
        state: 'active',
        last_error: null,
        last_executed: '2026-11-21T09:30:00.000Z',
      },
    ],
  },
)
export type Webhook = Static<typeof Webhook>

const url = Type.String({
  minLength: 1,
  maxLength: 2000,
  description: 'An http or https address that the server may connect to.',
  examples: ['https://hooks.example.com/dns'],
})
const secret = Type.String({
  minLength: 16,
  maxLength: 256,
  description: '16 to 256 characters. Default: generated, `whsec_` and base64 of 32 random bytes.',
})
export const MAX_HEADERS = 20
/** The most characters of a header's value. */
export const MAX_HEADER_VALUE_LENGTH = 4_000
const headers = Type.Record(Type.String(), Type.String({ maxLength: MAX_HEADER_VALUE_LENGTH }), {
  maxProperties: MAX_HEADERS,
  description:
    'At most 20 headers, sent with every request. Responses mask their values. To keep a value, send its mask.',
})
/** The most groups of one webhook. */
export const MAX_GROUPS = 1_000
const groups = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
  maxItems: MAX_LIST_IDS,
  description: 'Ids or slugs of at most 1,000 groups. A webhook that already has more keeps them.',
})

/** The optional fields of `monitor` in the payload of a webhook. */
export const PAYLOAD_INCLUDES = [
  'external_id',
  'metadata',
  'tags',
  'group',
  'reason',
  'difference',
  'setup_page',
] as const
export type PayloadInclude = (typeof PAYLOAD_INCLUDES)[number]
export type PayloadMonitor = Required<NonNullable<Delivery['monitor']>>
const payload_includes = Type.Array(Type.Enum(PAYLOAD_INCLUDES), {
  maxItems: 20,
  description: `Fields to add to the payload in \`monitor\`, with their values when the event occurred: ${PAYLOAD_INCLUDES.join(', ')}. Default: nothing, and the payload has no \`monitor\`.`,
  examples: [['external_id', 'difference']],
})

const all_groups = Type.Boolean({
  description:
    'Whether the webhook receives the changes of all groups, also of groups that are created later. `groups` and the `webhooks` of a group stay as they are. Default: false.',
})

const zone_events = Type.Boolean({
  description:
    'Whether the webhook also receives changes of findings about zones (ZoneDelivery), of all zones of the organization. They have another payload than changes of records. Default: false.',
})

const batch = StrictObject(
  {
    max_events: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_BATCH_EVENTS,
        default: BATCH_DEFAULTS.max_events,
        description: 'The most events that one request has. One with so many is sent at once.',
      }),
    ),
    max_wait_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_BATCH_WAIT_SECONDS,
        default: BATCH_DEFAULTS.max_wait_seconds,
        description:
          'How many seconds an event waits for others at most. 0: only events recorded together share a request.',
      }),
    ),
  },
  {
    description:
      'Send several events in one request (DeliveryBatch). Default: null, one request for each event (Delivery).',
    examples: [BATCH_DEFAULTS],
  },
)

const elsewhere = {
  id: SET_BY_SERVER,
  created: SET_BY_SERVER,
  state: 'becomes active when a request succeeds. Send one with POST /webhooks/{webhook}/test.',
  last_error: SET_BY_SERVER,
  last_executed: SET_BY_SERVER,
}

export const NewWebhook = StrictObject(
  {
    url,
    secret: Type.Optional(secret),
    headers: Type.Optional(headers),
    groups: Type.Optional(groups),
    payload_includes: Type.Optional(payload_includes),
    all_groups: Type.Optional(all_groups),
    zone_events: Type.Optional(zone_events),
    batch: Type.Optional(Nullable(batch)),
  },
  {
    title: 'NewWebhook',
    examples: [{ url: 'https://hooks.example.com/dns', headers: { 'X-Team': 'infrastructure' }, groups: ['default'] }],
    'x-elsewhere': {
      ...elsewhere,
      is_active: 'is true for a new webhook. To disable it, use POST /webhooks/{webhook}/disable.',
    },
  },
)
export type NewWebhook = Static<typeof NewWebhook>

/** Absent fields keep their values. `headers` and `groups` are replaced as a whole; null clears them. To change the secret, rotate it. */
export const WebhookChange = StrictObject(
  {
    url: Type.Optional(url),
    headers: Type.Optional(Nullable(headers)),
    groups: Type.Optional(Nullable(groups)),
    payload_includes: Type.Optional(Nullable(payload_includes)),
    all_groups: Type.Optional(all_groups),
    zone_events: Type.Optional(zone_events),
    batch: Type.Optional(Nullable(batch)),
    is_active: Type.Optional(
      Type.Boolean({ description: 'Whether the webhook is enabled, as with /enable and /disable.' }),
    ),
  },
  {
    title: 'WebhookChange',
    examples: [{ groups: ['default'], is_active: true }],
    'x-elsewhere': { ...elsewhere, secret: 'is changed with POST /webhooks/{webhook}/rotate-secret.' },
  },
)
export type WebhookChange = Static<typeof WebhookChange>

export const SecretRotation = StrictObject(
  {
    secret: Type.Optional(secret),
    grace_hours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 72,
        default: 24,
        description:
          'The grace period in hours. During it, `webhook-signature` also has the signature of the old secret.',
      }),
    ),
  },
  { title: 'SecretRotation', examples: [{ grace_hours: 48 }] },
)
export type SecretRotation = Static<typeof SecretRotation>

export const WebhookQuery = StrictObject({
  ...pageQuery('WebhookOrder', ['created', 'last_executed']),
  group: Type.Optional(Type.String({ maxLength: 100, description: 'Slug or id of a group.' })),
  is_active: Type.Optional(
    Type.Boolean({ description: 'Only enabled webhooks (true), or only disabled ones (false).' }),
  ),
  state: Type.Optional(Type.Enum(['active', 'paused'], { description: 'Only webhooks in this state.' })),
})
export type WebhookQuery = Static<typeof WebhookQuery>

export const REQUEST_STATUSES = ['PENDING', 'DELIVERED', 'RETRYING', 'FAILED'] as const
export type RequestStatus = (typeof REQUEST_STATUSES)[number]

const request = {
  id: Type.String({ description: 'Begins with `req_`.' }),
  webhook_id: Type.String(),
  event_id: Nullable(Type.String({ description: 'Null for a test. Of a batch, its first event.' })),
  created: Instant('When the request was created.'),
  status: Type.Enum(REQUEST_STATUSES),
  retries: Type.Integer({
    description: 'The number of scheduled retries so far: 0 after the first attempt, at most 9.',
  }),
  delivered: Nullable(Instant('When the endpoint responded with 2xx.')),
  status_code: Nullable(Type.Integer({ description: 'The status of the last response.' })),
  error: Nullable(Type.String({ description: 'Why the last attempt failed.' })),
  response_body: Nullable(Type.String({ description: 'The first 4,000 characters of the last response.' })),
  last_attempt: Nullable(Instant('When the last attempt was made.')),
  next_attempt: Nullable(
    Instant(
      'When the next attempt is due; in the past while it is in progress. Null if no attempt follows, and while the webhook is paused or disabled.',
    ),
  ),
}
/** Only for a batch. */
const events = Type.Optional(
  Type.Integer({ description: 'The number of events in the request. Absent unless it was created as a batch.' }),
)
const example = {
  id: 'req_01kaj3x7v8q2n5m4r6t9w0y1zb',
  webhook_id: 'whk_01kaj3x7v8q2n5m4r6t9w0y1zb',
  event_id: 'evt_01kaj3x7v8q2n5m4r6t9w0y1zb',
  created: '2026-11-21T09:30:00.000Z',
  status: 'RETRYING',
  retries: 0,
  delivered: null,
  status_code: 503,
  error: 'the receiver answered 503',
  response_body: 'Service Unavailable',
  last_attempt: '2026-11-21T09:30:01.000Z',
  next_attempt: '2026-11-21T09:35:01.000Z',
}
export const WebhookRequest = StrictObject(
  { ...request, events },
  {
    title: 'WebhookRequest',
    description: 'One delivery to one webhook: of one event, or of a batch.',
    examples: [example],
  },
)
export type WebhookRequest = Static<typeof WebhookRequest>

export const WebhookAttempt = StrictObject(
  {
    number: Type.Integer({ description: '1 is the first attempt.' }),
    attempted: Instant('When the attempt was sent.'),
    status_code: Nullable(Type.Integer()),
    error: Nullable(Type.String()),
    response_body: Nullable(Type.String()),
    timings: Type.Record(Type.String(), Type.Number(), { description: 'Milliseconds of each phase.' }),
  },
  {
    title: 'WebhookAttempt',
    examples: [
      {
        number: 1,
        attempted: example.last_attempt,
        status_code: example.status_code,
        error: example.error,
        response_body: example.response_body,
        timings: { nameMs: 12, connectMs: 31, tlsMs: 48, firstByteMs: 95, totalMs: 96 },
      },
    ],
  },
)

export const WebhookRequestDetails = StrictObject(
  {
    ...request,
    events,
    payload: Type.Union([Delivery, DeliveryBatch, ZoneDelivery]),
    attempts: Type.Array(WebhookAttempt, { description: 'The latest 200, oldest first.' }),
  },
  {
    title: 'WebhookRequestInFull',
    examples: [{ ...example, payload: firstExample(Delivery), attempts: [firstExample(WebhookAttempt)] }],
  },
)
export type WebhookRequestDetails = Static<typeof WebhookRequestDetails>

/** Selects the requests to send again. */
export const Replay = StrictObject(
  {
    since: Time('Requests created at this time or later.'),
    until: Type.Optional(Time('Requests created before this time. Default: now.')),
    status: Type.Optional(
      Type.Union([Type.Enum(REQUEST_STATUSES), Type.Array(Type.Enum(REQUEST_STATUSES), { minItems: 1, maxItems: 4 })], {
        description: 'Only requests with this status, or one of these. Default: all, including delivered ones.',
      }),
    ),
  },
  { title: 'Replay', examples: [{ since: '2026-01-01T00:00:00Z', status: 'FAILED' }] },
)
export type Replay = Static<typeof Replay>

export const Replayed = StrictObject(
  { count: Type.Integer({ description: 'The number of requests that are sent again.' }) },
  { title: 'Replayed', examples: [{ count: 42 }] },
)
export type Replayed = Static<typeof Replayed>

export const WebhookRequestQuery = StrictObject({
  ...pageQuery('WebhookRequestOrder', ['created', 'last_attempt']),
  status: Type.Optional(Type.Enum(REQUEST_STATUSES, { description: 'Only requests with this status.' })),
  status_code: Type.Optional(
    Type.Integer({ minimum: 100, maximum: 599, description: 'Only requests with this status of the last response.' }),
  ),
  monitor_id: Type.Optional(Type.String({ maxLength: 40, description: 'Only for events of this monitor.' })),
  event_id: Type.Optional(Type.String({ maxLength: 40, description: 'Only for this event.' })),
  is_test: Type.Optional(Type.Boolean({ description: 'Only tests (true), or only requests that are none (false).' })),
  created_before: Type.Optional(TimeFilter('Only requests created before this time.')),
  created_after: Type.Optional(TimeFilter('Only requests created after this time.')),
  delivered_before: Type.Optional(TimeFilter('Only requests delivered before this time.')),
  delivered_after: Type.Optional(TimeFilter('Only requests delivered after this time.')),
  last_attempt_before: Type.Optional(TimeFilter('Only requests last attempted before this time.')),
  last_attempt_after: Type.Optional(TimeFilter('Only requests last attempted after this time.')),
})
export type WebhookRequestQuery = Static<typeof WebhookRequestQuery>

export const UNDELIVERED_STATUSES = ['PENDING', 'RETRYING', 'FAILED'] as const
export const UndeliveredQuery = StrictObject({
  ...pageQuery('UndeliveredOrder', ['created']),
  status: Type.Optional(
    Type.Enum(UNDELIVERED_STATUSES, {
      description: 'Only requests with this status. Default: all that were not delivered.',
    }),
  ),
  webhook_id: Type.Optional(Type.String({ maxLength: 40, description: 'Only requests of this webhook.' })),
  since: Type.Optional(TimeFilter('Only requests created at this time or later.')),
  is_test: Type.Optional(
    Type.Boolean({ description: 'Only tests (true), or only requests that are none (false, the default).' }),
  ),
})
export type UndeliveredQuery = Static<typeof UndeliveredQuery>

/** `GET /dashboard/api/webhooks/{id}/kept`: the requests that wait while the webhook is paused, and those that were dropped. */
export const QueuedRequests = StrictObject({
  waiting: Type.Integer({ description: 'At most 1,000 are counted.' }),
  dropped: Type.Integer({ description: 'Because they were too old, too many or too large.' }),
})
export type QueuedRequests = Static<typeof QueuedRequests>
