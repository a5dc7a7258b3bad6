import { type Static, Type } from 'typebox'
import { Exactly, pageQuery } from './common.ts'

export const Group = Exactly(
  {
    id: Type.String({ description: 'Begins with `grp_`.' }),
    slug: Type.String({ examples: ['production'] }),
    name: Type.String({ examples: ['Production'] }),
    is_default: Type.Boolean(),
    monitors: Type.Integer({ description: 'How many monitors are in it.' }),
    webhooks: Type.Array(Type.String(), { description: 'Webhooks that hear of its changes (`whk_…`).' }),
  },
  { title: 'Group', description: 'Monitors that belong together, and the webhooks that hear of them.' },
)
export type Group = Static<typeof Group>

const name = Type.String({ minLength: 1, maxLength: 250 })
const slug = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  description: 'lower-case letters, digits and single hyphens, 1 to 100 characters',
})
const webhooks = Type.Array(Type.String({ maxLength: 40 }), { maxItems: 100, description: 'Webhook ids (`whk_…`).' })

export const NewGroup = Exactly(
  {
    name,
    slug: Type.Optional(slug),
    webhooks: Type.Optional(webhooks),
  },
  { examples: [{ name: 'Production', slug: 'production' }] },
)
export type NewGroup = Static<typeof NewGroup>

export const GroupChange = Exactly(
  {
    name: Type.Optional(name),
    slug: Type.Optional(slug),
    webhooks: Type.Optional(Type.Union([webhooks, Type.Null()])),
  },
  { examples: [{ name: 'Production in Europe', webhooks: ['whk_01kaj3x7v8q2n5m4r6t9w0y1zb'] }] },
)
export type GroupChange = Static<typeof GroupChange>

export const GroupQuery = Exactly(pageQuery(['created', 'name', 'slug']))
