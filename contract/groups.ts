import { type Static, Type } from 'typebox'
import {
  firstExample,
  IncludeParameter,
  MAX_LIST_IDS,
  Name,
  pageQuery,
  SET_BY_SERVER,
  Slug,
  StrictObject,
} from './common.ts'
import { changedLabels, labelFilters, newLabels, responseLabels, withMetadataFilters } from './labels.ts'
import { MonitorCounts } from './monitor-list.ts'

export const Group = StrictObject(
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

/** The fields that `?include=…` adds to a group. */
export const GROUP_INCLUDES = ['external_id', 'tags', 'metadata', 'counts'] as const
export const GroupResponse = Type.Object(
  { ...Group.properties, ...responseLabels, counts: Type.Optional(MonitorCounts) },
  { title: 'Group', additionalProperties: false, examples: [firstExample(Group)] },
)
export type GroupResponse = Static<typeof GroupResponse>
export const GroupInclude = IncludeParameter(GROUP_INCLUDES, 'external_id,tags')

const webhooks = Type.Array(Type.String({ maxLength: 40 }), {
  maxItems: MAX_LIST_IDS,
  description:
    'Webhook ids (`whk_…`). At most 100, or the number that the operator has set. A group that already has more keeps them.',
})

const readOnlyFields = {
  id: SET_BY_SERVER,
  is_default: 'cannot be changed. Leave it out.',
  monitors: 'is counted by Zonewatch. To move a monitor, use PATCH /monitors/{monitor} with `group`.',
}

export const NewGroup = StrictObject(
  {
    name: Name,
    slug: Type.Optional(Slug),
    webhooks: Type.Optional(webhooks),
    ...newLabels,
  },
  { title: 'NewGroup', examples: [{ name: 'Production', slug: 'production' }], 'x-elsewhere': readOnlyFields },
)
export type NewGroup = Static<typeof NewGroup>

export const GroupChange = StrictObject(
  {
    name: Type.Optional(Name),
    slug: Type.Optional(Slug),
    webhooks: Type.Optional(Type.Union([webhooks, Type.Null()])),
    ...changedLabels,
  },
  {
    title: 'GroupChange',
    examples: [{ name: 'Production in Europe', webhooks: ['whk_01kaj3x7v8q2n5m4r6t9w0y1zb'] }],
    'x-elsewhere': readOnlyFields,
  },
)
export type GroupChange = Static<typeof GroupChange>

/** The most monitors that one request deletes with their group. */
export const MAX_DELETED_WITH_GROUP = 500
export const GroupDeletion = StrictObject({
  monitors: Type.Optional(
    Type.Enum(['move', 'delete'], {
      type: 'string',
      description: `What happens to the monitors of the group. \`move\`: they move to the default group. \`delete\`: they are deleted with their events, at most ${MAX_DELETED_WITH_GROUP}. Default: move.`,
    }),
  ),
})

export const GroupQuery = StrictObject(
  {
    ...pageQuery('GroupOrder', ['created', 'name', 'slug']),
    ...labelFilters,
    search: Type.Optional(
      Type.String({
        description:
          'Only groups that contain all of these words: in the name, the slug, the external id, a tag or the metadata. Letter case does not matter.',
        minLength: 1,
        maxLength: 512,
        examples: ['acme'],
      }),
    ),
    include: GroupInclude,
  },
  withMetadataFilters,
)
export type GroupQuery = Static<typeof GroupQuery>
