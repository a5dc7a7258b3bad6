import { type Static, Type } from 'typebox'
import { Instant, Name, Nullable, pageQuery, SET_BY_SERVER, StrictObject } from './common.ts'

export const AGENT_ROLES = ['owner', 'admin', 'member', 'viewer'] as const
export type AgentRole = (typeof AGENT_ROLES)[number]

/** Accepts nearly everything, because only a delivered mail proves that an address exists. */
const PART = '[^\\s\\u0000-\\u001f\\u007f-\\u009f\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069@<>,;:"()\\[\\]\\\\]+'
export const EMAIL = `^${PART}@${PART}$`
export const Email = Type.String({ maxLength: 254, pattern: EMAIL, description: 'an email address' })

const role = Type.Enum(AGENT_ROLES, {
  description:
    '`viewer`: read only. `member`: manages monitors, groups and webhooks. `admin`: also agents, invitations, keys and settings. `owner`: also billing and deletion.',
})

export const Agent = StrictObject(
  {
    id: Type.String({ description: 'Begins with `agt_`.' }),
    name: Type.String({ examples: ['Ada Example'] }),
    email: Type.String({ description: 'The address for signing in.' }),
    role,
    is_owner: Type.Boolean(),
    notification_email: Nullable(Type.String({ description: 'The address for notifications, if not `email`.' })),
    created: Instant('When the agent joined.'),
    last_seen: Nullable(Instant('When the agent last used the dashboard.')),
  },
  {
    title: 'Agent',
    description: 'A member of the team.',
    examples: [
      {
        id: 'agt_01kaj3x7v8q2n5m4r6t9w0y1zb',
        name: 'Ada Example',
        email: 'ada@example.com',
        role: 'admin',
        is_owner: false,
        notification_email: null,
        created: '2026-11-20T08:00:00.000Z',
        last_seen: '2026-11-21T09:30:00.000Z',
      },
    ],
  },
)
export type Agent = Static<typeof Agent>

export const AgentChange = StrictObject(
  {
    name: Type.Optional(Name),
    role: Type.Optional(role),
    notification_email: Type.Optional(Nullable(Email)),
  },
  {
    title: 'AgentChange',
    examples: [{ name: 'Ada Example', role: 'admin' }],
    'x-elsewhere': {
      id: SET_BY_SERVER,
      email: 'can only be changed by the agent, in the dashboard. Use `notification_email` for notifications.',
      is_owner: 'is derived from `role`. Send `role` instead.',
      created: SET_BY_SERVER,
      last_seen: SET_BY_SERVER,
    },
  },
)
export type AgentChange = Static<typeof AgentChange>

export const INVITATION_STATES = ['pending', 'accepted', 'expired', 'revoked'] as const
export type InvitationState = (typeof INVITATION_STATES)[number]

export const Invitation = StrictObject(
  {
    id: Type.String({ description: 'Begins with `inv_`.' }),
    email: Type.String(),
    role,
    state: Type.Enum(INVITATION_STATES),
    created: Instant('When the invitation was created.'),
    expires: Instant('When the invitation expires: 7 days after it was last sent.'),
    invited_by: Nullable(
      Type.String({ description: 'The agent (`agt_…`) or API key (`key_…`) that created the invitation.' }),
    ),
  },
  {
    title: 'Invitation',
    description: 'An invitation to join the organization. It can be accepted once.',
    examples: [
      {
        id: 'inv_01kaj3x7v8q2n5m4r6t9w0y1zb',
        email: 'grace@example.com',
        role: 'member',
        state: 'pending',
        created: '2026-11-20T08:00:00.000Z',
        expires: '2026-11-27T08:00:00.000Z',
        invited_by: 'agt_01kaj3x7v8q2n5m4r6t9w0y1zb',
      },
    ],
  },
)
export type Invitation = Static<typeof Invitation>

export const NewInvitation = StrictObject(
  {
    email: Email,
    role: Type.Optional(Type.Enum(AGENT_ROLES, { default: 'member' })),
  },
  { title: 'NewInvitation', examples: [{ email: 'grace@example.com', role: 'member' }] },
)
export type NewInvitation = Static<typeof NewInvitation>

export const AgentQuery = StrictObject(pageQuery('AgentOrder', ['created', 'name', 'email']))
export const InvitationQuery = StrictObject(pageQuery('InvitationOrder', ['created']))
