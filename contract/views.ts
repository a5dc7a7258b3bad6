import { type Static, Type } from 'typebox'
import { Instant, Name, Nullable, pageQuery, SET_BY_SERVER, StrictObject } from './common.ts'
import { METADATA_PARAMETER, withMetadataFilters } from './labels.ts'
import { MONITOR_ORDERS, monitorFilters } from './monitor-list.ts'

export const MAX_VIEWS = 200
const DENSITIES = ['comfortable', 'compact'] as const
export const COLUMN = `^[a-z_]{1,40}$|${METADATA_PARAMETER}`

const filter = StrictObject(monitorFilters, {
  ...withMetadataFilters,
  description:
    'The filters of GET /monitors; empty for every monitor. They are applied each time the view is opened. A group named by its id stays the same when its slug changes.',
})
const fields = {
  filter: Type.Optional(filter),
  order_by: Type.Optional(
    Type.Enum(MONITOR_ORDERS, { type: 'string', description: 'As in GET /monitors. Default: `created`.' }),
  ),
  order_way: Type.Optional(Type.Enum(['asc', 'desc'], { type: 'string', description: 'Default: `asc`.' })),
  columns: Type.Optional(
    Nullable(
      Type.Array(
        Type.String({ minLength: 1, pattern: COLUMN, description: 'a field of a monitor, or `metadata.<key>`' }),
        {
          minItems: 1,
          maxItems: 20,
          description:
            'Columns to show, in this order: fields of a monitor, or `metadata.<key>`. Null: the default ones.',
        },
      ),
    ),
  ),
  density: Type.Optional(
    Nullable(
      Type.Enum(DENSITIES, {
        type: 'string',
        description: 'The height of the rows. Null: as the reader has chosen it in the browser.',
      }),
    ),
  ),
}
const example = {
  name: 'Failing mail records',
  filter: { state: 'MISMATCH,NOT_FOUND', record_type: 'MX' as const },
  order_by: 'domain' as const,
  order_way: 'asc' as const,
  columns: ['name', 'state', 'metadata.customer'],
  density: 'compact' as const,
}

export const View = StrictObject(
  {
    id: Type.String({ description: 'Begins with `viw_`.' }),
    created: Instant('When the view was created.'),
    created_by: Type.String({ description: 'The name of the person or key that created it.' }),
    name: Type.String(),
    filter: Type.Unsafe<ViewFilter>({
      type: 'object',
      additionalProperties: { type: ['string', 'boolean'] },
      description: 'The filters of GET /monitors.',
    }),
    order_by: Type.Enum(MONITOR_ORDERS, { type: 'string' }),
    order_way: Type.Enum(['asc', 'desc'], { type: 'string' }),
    columns: Nullable(Type.Array(Type.String())),
    density: Nullable(Type.Enum(DENSITIES, { type: 'string' })),
  },
  {
    title: 'View',
    description: 'A saved list of monitors: filters, order, columns and density. Everyone in the organization sees it.',
    examples: [
      {
        id: 'viw_01kaj3x7v8q2n5m4r6t9w0y1zb',
        created: '2026-11-20T08:00:00.000Z',
        created_by: 'Ada Example',
        ...example,
      },
    ],
  },
)
export type View = Static<typeof View>
export type ViewFilter = Static<typeof filter>

const readOnlyFields = { id: SET_BY_SERVER, created: SET_BY_SERVER, created_by: SET_BY_SERVER }
export const NewView = StrictObject(
  { name: Name, ...fields },
  { title: 'NewView', examples: [example], 'x-elsewhere': readOnlyFields },
)
export type NewView = Static<typeof NewView>

export const ViewChange = StrictObject(
  { name: Type.Optional(Name), ...fields },
  {
    title: 'ViewChange',
    description: 'What is left out stays. `filter` replaces all filters.',
    examples: [{ name: 'Mail records' }],
    'x-elsewhere': readOnlyFields,
  },
)
export type ViewChange = Static<typeof ViewChange>

export const ViewQuery = StrictObject(pageQuery('ViewOrder', ['created', 'name']))
export type ViewQuery = Static<typeof ViewQuery>
