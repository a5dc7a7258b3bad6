import { type Static, Type } from 'typebox'
import {
  Exactly,
  exampleOf,
  GIVEN_BY_SERVER,
  Instant,
  MOST_NAMED,
  Nullable,
  pageQuery,
  Time,
  TimeFilter,
} from './common.ts'
import { Delivery } from './events.ts'

export const Webhook = Exactly(
  {
    id: Type.String({ description: 'Begins with `whk_`.' }),
    created: Instant('When the webhook was created.'),
    url: Type.String({ examples: ['https://hooks.example.com/dns'] }),
    secret: Type.String({
      description:
        'In full when the webhook is created or the secret is rotated, else masked to its last 4 characters.',
    }),
    headers: Type.Record(Type.String(), Type.String(), {
      description: 'Sent with every request. Each value is masked to its last 4 characters.',
    }),
    groups: Type.Array(Type.String(), { description: 'Groups whose changes are sent to it (`grp_…`).' }),
    is_active: Type.Boolean(),
    state: Type.Enum(['active', 'paused'], {
      description: 'Paused after the ninth retry failed, until a request succeeds.',
    }),
    last_error: Nullable(Type.String()),
    last_executed: Nullable(Instant('When a request was last attempted.')),
  },
  {
    title: 'Webhook',
    description: 'Where changes are reported to.',
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
  description: 'Generated when absent: `whsec_` and base64 of 32 random octets.',
})
export const MOST_HEADERS = 20
/** Characters that the value of a header may have. */
export const VALUE_LIMIT = 4_000
const headers = Type.Record(Type.String(), Type.String({ maxLength: VALUE_LIMIT }), {
  maxProperties: MOST_HEADERS,
  description: 'At most 20, sent with every request. A value is shown masked; the mask sent back keeps the value.',
})
/** Groups that one webhook may be linked to. */
export const MOST_GROUPS = 1_000
const groups = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
  maxItems: MOST_NAMED,
  description: 'Ids or slugs of groups, at most 1,000; a webhook that has more already may keep them.',
})

const elsewhere = {
  id: GIVEN_BY_SERVER,
  created: GIVEN_BY_SERVER,
  state: 'becomes active when a request succeeds; POST /webhooks/{webhook}/test makes one.',
  last_error: GIVEN_BY_SERVER,
  last_executed: GIVEN_BY_SERVER,
}

export const NewWebhook = Exactly(
  {
    url,
    secret: Type.Optional(secret),
    headers: Type.Optional(headers),
    groups: Type.Optional(groups),
  },
  {
    title: 'NewWebhook',
    examples: [{ url: 'https://hooks.example.com/dns', headers: { 'X-Team': 'infrastructure' }, groups: ['default'] }],
    'x-elsewhere': {
      ...elsewhere,
      is_active: 'is true of a new webhook; POST /webhooks/{webhook}/disable disables it afterwards.',
    },
  },
)
export type NewWebhook = Static<typeof NewWebhook>

/** What is absent stays; `headers` and `groups` are replaced whole, and cleared by null. The secret is changed by rotating it. */
export const WebhookChange = Exactly(
  {
    url: Type.Optional(url),
    headers: Type.Optional(Nullable(headers)),
    groups: Type.Optional(Nullable(groups)),
    is_active: Type.Optional(Type.Boolean({ description: 'As by /enable and /disable.' })),
  },
  {
    title: 'WebhookChange',
    examples: [{ url: 'https://hooks.example.com/dns/v2' }],
    'x-elsewhere': { ...elsewhere, secret: 'is changed by POST /webhooks/{webhook}/rotate-secret.' },
  },
)
export type WebhookChange = Static<typeof WebhookChange>

export const SecretRotation = Exactly(
  {
    secret: Type.Optional(secret),
    grace_hours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 72,
        default: 24,
        description: 'For how many hours `webhook-signature` carries the signature of the old secret too.',
      }),
    ),
  },
  { title: 'SecretRotation', examples: [{ grace_hours: 48 }] },
)
export type SecretRotation = Static<typeof SecretRotation>

export const WebhookQuery = Exactly({
  ...pageQuery('WebhookOrder', ['created', 'last_executed']),
  group: Type.Optional(Type.String({ maxLength: 100, description: 'Slug or id of a group.' })),
  is_active: Type.Optional(Type.Boolean({ description: 'Only enabled ones, or only disabled ones.' })),
  state: Type.Optional(Type.Enum(['active', 'paused'], { description: 'Only webhooks in this state.' })),
})
export type WebhookQuery = Static<typeof WebhookQuery>

export const REQUEST_STATUSES = ['PENDING', 'DELIVERED', 'RETRYING', 'FAILED'] as const

const request = {
  id: Type.String({ description: 'Begins with `req_`.' }),
  webhook_id: Type.String(),
  event_id: Nullable(Type.String({ description: 'Null for a test.' })),
  created: Instant('When the request was created.'),
  status: Type.Enum(REQUEST_STATUSES),
  retries: Type.Integer({
    description: 'How many retries of the schedule there were: 0 after the first attempt, at most 9.',
  }),
  delivered: Nullable(Instant('When a 2xx answer arrived.')),
  status_code: Nullable(Type.Integer({ description: "The last answer's status." })),
  error: Nullable(Type.String({ description: 'Why the last attempt failed.' })),
  response_body: Nullable(Type.String({ description: 'The first 4,000 characters of the last answer.' })),
  last_attempt: Nullable(Instant('When it was last attempted.')),
  next_attempt: Nullable(
    Instant(
      'When it will be attempted next; in the past while that is under way. Null when it is done with, and while its webhook is paused or disabled.',
    ),
  ),
}
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
export const WebhookRequest = Exactly(request, {
  title: 'WebhookRequest',
  description: 'One delivery of one event to one webhook.',
  examples: [example],
})
export type WebhookRequest = Static<typeof WebhookRequest>

export const WebhookAttempt = Exactly(
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

export const WebhookRequestInFull = Exactly(
  {
    ...request,
    payload: Delivery,
    attempts: Type.Array(WebhookAttempt, { description: 'The latest 200, oldest first.' }),
  },
  {
    title: 'WebhookRequestInFull',
    examples: [{ ...example, payload: exampleOf(Delivery), attempts: [exampleOf(WebhookAttempt)] }],
  },
)
export type WebhookRequestInFull = Static<typeof WebhookRequestInFull>

/** Which requests are sent again, by when they were created. */
export const Replay = Exactly(
  {
    since: Time('Requests created then or later.'),
    until: Type.Optional(Time('Requests created before; now when absent.')),
    status: Type.Optional(
      Type.Union([Type.Enum(REQUEST_STATUSES), Type.Array(Type.Enum(REQUEST_STATUSES), { minItems: 1, maxItems: 4 })], {
        description: 'Only requests of this status, or of one of these; all, delivered ones too, when absent.',
      }),
    ),
  },
  { title: 'Replay', examples: [{ since: '2026-01-01T00:00:00Z', status: 'FAILED' }] },
)
export type Replay = Static<typeof Replay>

export const Replayed = Exactly(
  { count: Type.Integer({ description: 'How many requests are sent again.' }) },
  { title: 'Replayed', examples: [{ count: 42 }] },
)
export type Replayed = Static<typeof Replayed>

export const WebhookRequestQuery = Exactly({
  ...pageQuery('WebhookRequestOrder', ['created', 'last_attempt']),
  status: Type.Optional(Type.Enum(REQUEST_STATUSES, { description: 'Only requests of this status.' })),
  status_code: Type.Optional(Type.Integer({ minimum: 100, maximum: 599, description: 'Only with this last answer.' })),
  monitor_id: Type.Optional(Type.String({ maxLength: 40, description: 'Only for events of this monitor.' })),
  event_id: Type.Optional(Type.String({ maxLength: 40, description: 'Only for this event.' })),
  created_before: Type.Optional(TimeFilter('Only requests created before this time.')),
  created_after: Type.Optional(TimeFilter('Only requests created after this time.')),
  delivered_before: Type.Optional(TimeFilter('Only requests delivered before this time.')),
  delivered_after: Type.Optional(TimeFilter('Only requests delivered after this time.')),
  last_attempt_before: Type.Optional(TimeFilter('Only requests last attempted before this time.')),
  last_attempt_after: Type.Optional(TimeFilter('Only requests last attempted after this time.')),
})
export type WebhookRequestQuery = Static<typeof WebhookRequestQuery>

/** `GET /dashboard/api/webhooks/{id}/kept`: what waits now, and what waited and was dropped. */
export const KeptRequests = Exactly({
  waiting: Type.Integer({ description: 'At most 1,000 are counted.' }),
  dropped: Type.Integer({ description: 'Because they were too old, too many or too large.' }),
})
export type KeptRequests = Static<typeof KeptRequests>
