import { type Static, Type } from 'typebox'
import { Exactly, exampleOf, pageQuery } from './common.ts'
import { withMetadataFilters } from './labels.ts'
import { MONITOR_ORDERS, monitorFilters } from './monitor-list.ts'
import { MonitorAnswer } from './monitors.ts'

/** `GET /monitors/export`. */
export const EXPORT_FORMATS = ['json', 'csv', 'zone'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
const { after: _after, before: _before, limit: _limit, ...ordered } = pageQuery('MonitorOrder', MONITOR_ORDERS)
export const ExportQuery = Exactly(
  {
    ...ordered,
    // Without the default, so that a zone file has an order of its own.
    order_by: Type.Optional(
      Type.Enum(MONITOR_ORDERS, {
        type: 'string',
        title: 'ExportOrder',
        description: 'The field to order by. Default: `created`, and `domain` for a zone file.',
      }),
    ),
    ...monitorFilters,
    format: Type.Optional(
      Type.Enum(EXPORT_FORMATS, {
        type: 'string',
        description:
          '`json`: a list of monitors with `frequency`, `group`, `external_id`, `tags` and `metadata`. `csv`: a line for each monitor, which an import reads. `zone`: the expected values as records of a zone file, zone after zone. Default: `json`.',
      }),
    ),
  },
  withMetadataFilters,
)
export type ExportQuery = Static<typeof ExportQuery>

export const ExportedMonitors = Type.Array(MonitorAnswer, {
  title: 'ExportedMonitors',
  examples: [
    [
      {
        ...(exampleOf(MonitorAnswer) as MonitorAnswer),
        ...{
          frequency: 5,
          group: 'shop',
          external_id: 'customer-300/www',
          tags: ['prod'],
          metadata: { shop_id: '300' },
        },
      },
    ],
  ],
})
