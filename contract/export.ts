import { type Static, Type } from 'typebox'
import { firstExample, pageQuery, StrictObject } from './common.ts'
import { MAX_JOB_MONITORS } from './jobs.ts'
import { withMetadataFilters } from './labels.ts'
import { MONITOR_ORDERS, monitorFilters } from './monitor-list.ts'
import { MonitorResponse } from './monitors.ts'

/** `GET /monitors/export`. */
export const EXPORT_FORMATS = ['json', 'csv', 'zone'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
/** In addition: `metadata.<key>`. */
export const EXPORT_COLUMNS = [
  'id',
  'created',
  'name',
  'domain',
  'subdomain',
  'record_type',
  'expected_value',
  'current_value',
  'is_exact_match',
  'state',
  'incidence_count',
  'last_checked',
  'is_active',
  'notify',
  'frequency',
  'group',
  'external_id',
  'tags',
  'metadata',
] as const
export type ExportColumn = (typeof EXPORT_COLUMNS)[number]
/** The same as in a view. */
export const MAX_EXPORT_COLUMNS = 20

const formatFields = {
  format: Type.Optional(
    Type.Enum(EXPORT_FORMATS, {
      type: 'string',
      description:
        '`json`: a list of monitors with `frequency`, `resolution`, `group`, `external_id`, `tags` and `metadata`. `csv`: a line for each monitor, which an import reads. `zone`: the expected values as records of a zone file, zone after zone. Default: `json`, and `csv` with `columns`.',
    }),
  ),
  columns: Type.Optional(
    Type.String({
      maxLength: 1_024,
      description: `The columns of a CSV, in this order, separated by commas. At most ${MAX_EXPORT_COLUMNS} of ${EXPORT_COLUMNS.map((name) => `\`${name}\``).join(', ')} and \`metadata.<key>\`. Default: all, with the names that an import reads.`,
      examples: ['name,state,metadata.customer'],
    }),
  ),
}

const { after: _after, before: _before, limit: _limit, ...ordered } = pageQuery('MonitorOrder', MONITOR_ORDERS)
export const ExportQuery = StrictObject(
  {
    ...ordered,
    // Without a default: the order of a zone file is `domain`.
    order_by: Type.Optional(
      Type.Enum(MONITOR_ORDERS, {
        type: 'string',
        title: 'ExportOrder',
        description: 'The field to order by. Default: `created`, and `domain` for a zone file.',
      }),
    ),
    ...monitorFilters,
    ...formatFields,
  },
  withMetadataFilters,
)
export type ExportQuery = Static<typeof ExportQuery>

/** The request of the dashboard for the selected monitors, in the order of the list. */
export const SelectedExport = StrictObject({
  ...formatFields,
  monitors: Type.Array(Type.String({ maxLength: 40 }), { minItems: 1, maxItems: MAX_JOB_MONITORS }),
})
export type SelectedExport = Static<typeof SelectedExport>

export const ExportedMonitors = Type.Array(MonitorResponse, {
  title: 'ExportedMonitors',
  examples: [
    [
      {
        ...(firstExample(MonitorResponse) as MonitorResponse),
        ...{
          frequency: 5,
          resolution: 'auto',
          group: 'shop',
          external_id: 'customer-300/www',
          tags: ['prod'],
          metadata: { shop_id: '300' },
        },
      },
    ],
  ],
})
