import { type Static, type TSchema, Type } from 'typebox'
import { Instant, Name, Nullable, pageQuery, SET_BY_SERVER, StrictObject } from './common.ts'

/** The classes of requests for which a key can have a separate limit. */
export const KEY_LIMITS = ['read', 'page', 'write', 'create', 'check'] as const
export type KeyLimit = (typeof KEY_LIMITS)[number]

/** Which requests each class counts. */
const KEY_LIMIT_DESCRIPTIONS: Record<KeyLimit, string> = {
  read: 'GET and HEAD',
  page: 'pages of lists after the first, requested with `after` or `before`. Without a separate limit, they count as reads',
  write: 'POST, PUT, PATCH and DELETE',
  create: 'POST /monitors and POST /monitors/bulk',
  check: 'POST /monitors/{monitor}/check and POST /zones/{zone}/check. Without a separate limit, they count as writes',
}

/** The highest role of the keys that an agent creates. */
export const HIGHEST_KEY_ROLE = { viewer: 'read', member: 'write', admin: 'write', owner: 'admin' } as const

/** How long the previous secret may remain valid after a rotation. */
export const MAX_GRACE_HOURS = 168

const role = Type.Enum(['read', 'write', 'admin'], {
  description:
    '`read` only reads, `write` changes monitors, groups, webhooks and alert rules, `admin` has full access.',
})

const limitsOf = <T extends TSchema>(schema: (description: string) => T) =>
  Object.fromEntries(KEY_LIMITS.map((name) => [name, schema(KEY_LIMIT_DESCRIPTIONS[name])])) as Record<KeyLimit, T>

const KeyLimits = StrictObject(
  limitsOf((about) =>
    Nullable(
      Type.Integer({ description: `Requests per minute: ${about}. Null: the limit of the server. 0: no limit.` }),
    ),
  ),
  { title: 'ApiKeyLimits', description: 'The limits of this key that replace those of the server.' },
)

const NewKeyLimits = StrictObject(
  limitsOf((about) =>
    Type.Optional(
      Nullable(Type.Integer({ minimum: 0, maximum: 1_000_000, description: `Requests per minute: ${about}.` })),
    ),
  ),
  {
    title: 'NewApiKeyLimits',
    description:
      'Limits of this key instead of those of the server, at most the KEY_LIMIT_MAX of the server. Only owners and keys with the role admin can set them. Null: the limit of the server.',
  },
)
export type NewKeyLimits = Static<typeof NewKeyLimits>

const NO_LIMITS = { read: null, page: null, write: null, create: null, check: null }
const EXAMPLE = {
  id: 'key_01kaj3x7v8q2n5m4r6t9w0y1zb',
  name: 'Deployment',
  role: 'write',
  created: '2026-11-20T08:00:00.000Z',
  created_by: 'Ada Example',
  created_by_id: 'agt_01kaj3x7v8q2n5m4r6t9w0y1zb',
  created_by_key_id: null,
  last_used: '2026-11-21T09:30:00.000Z',
  expires: null,
  revoked: null,
  rotated: null,
  previous_expires: null,
  limits: { ...NO_LIMITS, read: 300, page: 600 },
}

export const ApiKey = StrictObject(
  {
    id: Type.String({ description: 'Begins with `key_`.' }),
    name: Type.String(),
    role,
    created: Instant('When the key was created.'),
    created_by: Nullable(
      Type.String({
        description: 'The name of the agent who created the key. Null: the command line, or an agent who left.',
      }),
    ),
    created_by_id: Nullable(Type.String({ description: 'The id of the agent (`agt_…`) who created the key.' })),
    created_by_key_id: Nullable(
      Type.String({
        description: 'The id of the API key (`key_…`) that created this key, on behalf of its own creator.',
      }),
    ),
    last_used: Nullable(Instant('When the key was last used, to the minute.')),
    expires: Nullable(Instant('When the key expires.')),
    revoked: Nullable(Instant('When the key was revoked.')),
    rotated: Nullable(Instant('When the key was last rotated.')),
    previous_expires: Nullable(Instant('When the previous key stops working. Null: only the current one works.')),
    limits: KeyLimits,
  },
  {
    title: 'ApiKey',
    description: 'A key that authenticates programs. The key itself is not shown.',
    examples: [EXAMPLE],
  },
)
export type ApiKey = Static<typeof ApiKey>

const elsewhere = {
  id: SET_BY_SERVER,
  created: SET_BY_SERVER,
  created_by: SET_BY_SERVER,
  created_by_id: SET_BY_SERVER,
  created_by_key_id: SET_BY_SERVER,
  last_used: SET_BY_SERVER,
  revoked: 'is set by DELETE /api-keys/{key}.',
  rotated: 'is set by POST /api-keys/{key}/rotate.',
  previous_expires: 'is set by POST /api-keys/{key}/rotate.',
}

const expires = Nullable(
  Type.String({ maxLength: 40, description: 'A time in the future, ISO 8601. Null: the key does not expire.' }),
)

export const NewApiKey = StrictObject(
  { name: Name, role, expires: Type.Optional(expires), limits: Type.Optional(Nullable(NewKeyLimits)) },
  {
    title: 'NewApiKey',
    examples: [{ name: 'Deployment', role: 'write', limits: { read: 300, page: 600 } }],
    'x-elsewhere': elsewhere,
  },
)
export type NewApiKey = Static<typeof NewApiKey>

/** Absent fields keep their values, also in `limits`. */
export const ApiKeyChange = StrictObject(
  {
    name: Type.Optional(Name),
    role: Type.Optional(role),
    expires: Type.Optional(expires),
    limits: Type.Optional(Nullable(NewKeyLimits)),
  },
  { title: 'ApiKeyChange', examples: [{ limits: { check: 60 } }], 'x-elsewhere': elsewhere },
)
export type ApiKeyChange = Static<typeof ApiKeyChange>

export const ApiKeyRotation = StrictObject(
  {
    grace_hours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_GRACE_HOURS,
        default: 24,
        description: 'Hours for which the previous key also works. 0: it stops working at once.',
      }),
    ),
  },
  { title: 'ApiKeyRotation', examples: [{ grace_hours: 24 }] },
)
export type ApiKeyRotation = Static<typeof ApiKeyRotation>

export const ApiKeyWithSecret = StrictObject(
  {
    ...ApiKey.properties,
    key: Type.String({ description: 'The key: `zw_` and 43 letters and digits. Only this response shows it.' }),
  },
  {
    title: 'ApiKeyWithSecret',
    examples: [{ ...EXAMPLE, last_used: null, key: `zw_${'x'.repeat(43)}` }],
  },
)
export type ApiKeyWithSecret = Static<typeof ApiKeyWithSecret>

export const KEY_STATES = ['active', 'expired', 'revoked'] as const

export const ApiKeyQuery = StrictObject({
  ...pageQuery('ApiKeyOrder', ['created']),
  state: Type.Optional(
    Type.Enum(KEY_STATES, { type: 'string', title: 'ApiKeyState', description: 'Filter by whether the key works.' }),
  ),
  created_by_key: Type.Optional(
    Type.String({ maxLength: 100, description: 'Filter by the API key (`key_…`) that created the key.' }),
  ),
})
export type ApiKeyQuery = Static<typeof ApiKeyQuery>

export const ApiKeyRevocation = StrictObject({
  created_keys: Type.Optional(
    Type.Enum(['keep', 'revoke'], {
      type: 'string',
      title: 'CreatedKeys',
      default: 'keep',
      description: '`revoke`: revokes the keys that it created too, and those that they created.',
    }),
  ),
})
export type ApiKeyRevocation = Static<typeof ApiKeyRevocation>

/** `GET /dashboard/api/key-limits`: the limits of the server. `most`: the highest limit that owners can set; 0: no limit. */
export const ServerKeyLimits = StrictObject({ defaults: KeyLimits, most: Type.Integer() })
export type ServerKeyLimits = Static<typeof ServerKeyLimits>
