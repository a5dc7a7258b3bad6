import { type Static, Type } from 'typebox'
import { Exactly, GIVEN_BY_SERVER, MOST_NAMED, Name, pageQuery, Slug } from './common.ts'

export const Group = Exactly(
  {
    id: Type.String({ description: 'Begins with `grp_`.' }),
    slug: Type.String({ examples: ['production'] }),
    name: Type.String({ examples: ['Production'] }),
    is_default: Type.Boolean(),
    monitors: Type.Integer({ description: 'The number of monitors in the group.' }),
    webhooks: Type.Array(Type.String(), {
      description: 'The ids of webhooks (`whk_…`) that receive the changes of the group.',
    }),
  },
  {
    title: 'Group',
    description: 'Monitors that belong together, and the webhooks that receive their changes.',
    examples: [
      {
        id: 'grp_01kaj3x7v8q2n5m4r6t9w0y1zb',
        slug: 'production',
        name: 'Production',
        is_default: false,
        monitors: 12,
        webhooks: ['whk_01kaj3x7v8q2n5m4r6t9w0y1zb'],
      },
    ],
  },
)
export type Group = Static<typeof Group>

const webhooks = Type.Array(Type.String({ maxLength: 40 }), {
  maxItems: MOST_NAMED,
  description:
    'Webhook ids (`whk_…`). At most 100, or the number that the operator has set. A group that already has more keeps them.',
})

const elsewhere = {
  id: GIVEN_BY_SERVER,
  is_default: 'cannot be changed. Leave it out.',
  monitors: 'is counted by Zonewatch. To move a monitor, use PATCH /monitors/{monitor} with `group`.',
}

export const NewGroup = Exactly(
  {
    name: Name,
    slug: Type.Optional(Slug),
    webhooks: Type.Optional(webhooks),
  },
  { title: 'NewGroup', examples: [{ name: 'Production', slug: 'production' }], 'x-elsewhere': elsewhere },
)
export type NewGroup = Static<typeof NewGroup>

export const GroupChange = Exactly(
  {
    name: Type.Optional(Name),
    slug: Type.Optional(Slug),
    webhooks: Type.Optional(Type.Union([webhooks, Type.Null()])),
  },
  {
    title: 'GroupChange',
    examples: [{ name: 'Production in Europe', webhooks: ['whk_01kaj3x7v8q2n5m4r6t9w0y1zb'] }],
    'x-elsewhere': elsewhere,
  },
)
export type GroupChange = Static<typeof GroupChange>

export const GroupQuery = Exactly(pageQuery('GroupOrder', ['created', 'name', 'slug']))
