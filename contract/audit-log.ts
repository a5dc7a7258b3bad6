import { type Static, Type } from 'typebox'
import { Instant, Nullable, pageQuery, StrictObject, TimeFilter } from './common.ts'

/** The actions for each type of object. */
const VERBS = {
  monitor: ['created', 'updated', 'enabled', 'disabled', 'deleted'],
  group: ['created', 'updated', 'monitors_updated', 'deleted'],
  webhook: [
    ...(['created', 'updated', 'enabled', 'disabled', 'deleted'] as const),
    ...(['secret_rotated', 'tested', 'request_retried', 'replayed'] as const),
  ],
  channel: ['created', 'updated', 'deleted', 'tested', 'alert_retried', 'alerts_replayed'],
  alert_rule: ['created', 'updated', 'deleted'],
  incident: ['updated'],
  job: ['created', 'canceled', 'undone'],
  setup_page: ['renewed', 'deleted'],
  planned_change: ['created', 'updated', 'deleted'],
  maintenance_window: ['created', 'updated', 'deleted'],
  view: ['created', 'updated', 'deleted'],
  zone: ['created', 'updated', 'deleted'],
  api_key: ['created', 'updated', 'rotated', 'revoked'],
  agent: [
    ...([
      'added',
      'updated',
      'removed',
      'signed_in',
      'renamed',
      'email_changed',
      'password_changed',
      'password_reset',
    ] as const),
    ...(['second_factor_enabled', 'second_factor_disabled', 'backup_codes_created'] as const),
  ],
  invitation: ['created', 'resent', 'revoked', 'accepted'],
  organization: ['created', 'updated', 'deletion_requested', 'deletion_canceled'],
  billing: ['updated'],
  subscription: ['checkout_started', 'canceled', 'resumed', 'updated'],
} as const

export const AUDIT_OBJECTS = Object.keys(VERBS) as AuditObject[]
export type AuditObject = keyof typeof VERBS
export type AuditAction = { [T in AuditObject]: `${T}.${(typeof VERBS)[T][number]}` }[AuditObject]
export const AUDIT_ACTIONS = AUDIT_OBJECTS.flatMap((type) =>
  VERBS[type].map((verb) => `${type}.${verb}` as AuditAction),
)
export const AUDIT_ACTORS = ['person', 'key', 'system', 'operator'] as const
export type AuditActor = (typeof AUDIT_ACTORS)[number]

/** The most objects that an entry lists, if one request changes several. */
export const MAX_OBJECT_IDS = 100

const Fields = (description: string) =>
  Nullable(Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description }))

const Actor = StrictObject(
  {
    type: Type.Enum(AUDIT_ACTORS, {
      type: 'string',
      description:
        '`person`: a user of the dashboard. `key`: an API key. `operator`: the command line of the server. `system`: the server, a planned change, a job or the payment provider.',
    }),
    id: Type.String({
      description:
        "The agent's id (`agt_…`), the key's id (`key_…`), `operator`, `system`, `stripe`, or the id of a planned change (`pch_…`) or of a job (`job_…`).",
    }),
    label: Type.String({ description: 'The name at that time.' }),
  },
  { title: 'AuditActor', description: 'Who did it.' },
)

const AuditedObject = StrictObject(
  {
    type: Type.Enum(AUDIT_OBJECTS, { type: 'string' }),
    id: Nullable(Type.String({ description: 'Null if one call created or changed several objects.' })),
    label: Nullable(Type.String({ description: 'The name at that time.' })),
  },
  { title: 'AuditedObject', description: 'The object.' },
)

export const AuditEntry = StrictObject(
  {
    id: Type.String({ description: 'Begins with `aud_`.' }),
    occurred: Instant('When the action happened.'),
    actor: Actor,
    action: Type.Enum(AUDIT_ACTIONS, { type: 'string', title: 'AuditAction' }),
    object: AuditedObject,
    object_count: Type.Integer({ description: 'How many objects the call created or changed.' }),
    object_ids: Type.Array(Type.String(), {
      description: `The ids of the first ${MAX_OBJECT_IDS} objects, if the call created or changed several.`,
    }),
    before: Fields('The changed fields before the action; null for a created object. Secrets are left out.'),
    after: Fields('The changed fields after the action; null for a deleted object. Secrets are left out.'),
    address: Nullable(Type.String({ description: 'The IP address of the request.' })),
    request_id: Nullable(Type.String({ description: 'The `X-Request-Id` of the request.' })),
  },
  {
    title: 'AuditEntry',
    description: 'An action in the organization: who did it, when and from where.',
    examples: [
      {
        id: 'aud_01kaj3x7v8q2n5m4r6t9w0y1zb',
        occurred: '2026-11-21T09:30:00.000Z',
        actor: { type: 'person', id: 'agt_01kaj3x7v8q2n5m4r6t9w0y1zb', label: 'Ada Example' },
        action: 'organization.updated',
        object: { type: 'organization', id: 'org_01kaj3x7v8q2n5m4r6t9w0y1zb', label: 'Example' },
        object_count: 1,
        object_ids: [],
        before: { name: 'Example', slug: 'example' },
        after: { name: 'Example Ltd', slug: 'example-ltd' },
        address: '192.0.2.7',
        request_id: '9b2f6a70-6f5e-4c1d-9a35-0d8f2c1b7e44',
      },
    ],
  },
)
export type AuditEntry = Static<typeof AuditEntry>

export const AuditLogQuery = StrictObject({
  ...pageQuery('AuditLogOrder', ['occurred']),
  actor: Type.Optional(
    Type.String({ description: 'Only actions of this agent (`agt_…`) or API key (`key_…`).', maxLength: 40 }),
  ),
  action: Type.Optional(Type.Enum(AUDIT_ACTIONS, { type: 'string', description: 'Only entries with this action.' })),
  object: Type.Optional(
    Type.String({
      description: 'Only entries about this object (an id), or about objects of this type (such as `monitor`).',
      maxLength: 40,
    }),
  ),
  occurred_before: Type.Optional(TimeFilter('Only entries before this time.')),
  occurred_after: Type.Optional(TimeFilter('Only entries after this time.')),
})
export type AuditLogQuery = Static<typeof AuditLogQuery>
