import { type Static, Type } from 'typebox'
import { firstExample, Instant, StrictObject } from './common.ts'
import { Zone, ZoneEvent } from './zones.ts'

/** The payload of a request about a zone. Only webhooks with `zone_events` receive it. */
export const ZoneDelivery = StrictObject(
  {
    id: Type.String({ description: 'Begins with `req_`. The same in every attempt.' }),
    webhook_id: Type.String({ description: 'Begins with `whk_`.' }),
    zone: StrictObject({
      id: Zone.properties.id,
      name: Zone.properties.name,
      health: Zone.properties.health,
      previous_health: Zone.properties.health,
    }),
    zone_events: Type.Array(
      StrictObject({
        ...ZoneEvent.properties,
        advice: Type.String({ description: 'What to do, in English.' }),
        ignored: Type.Boolean({ description: 'The organization ignores it.' }),
      }),
      { description: 'What one look at the zone confirmed. At least one.' },
    ),
    created: Instant('When the request was created.'),
  },
  {
    title: 'ZoneDelivery',
    description:
      'The body of a request about a zone. Sent only to webhooks with `zone_events`, signed and retried as a `Delivery`, one for each look that changed something.',
    examples: [
      {
        id: 'req_01kaj3x7v8q2n5m4r6t9w0y1zb',
        webhook_id: 'whk_01kaj3x7v8q2n5m4r6t9w0y1zb',
        zone: {
          id: 'zon_01kaj3x7v8q2n5m4r6t9w0y1zb',
          name: 'example.com',
          health: 'warning',
          previous_health: 'ok',
        },
        zone_events: [
          {
            ...(firstExample(ZoneEvent) as ZoneEvent),
            advice: 'Check the zone transfer to ns2.example.net: NOTIFY, allowed addresses, TSIG key, and its log.',
            ignored: false,
          },
        ],
        created: '2026-11-21T09:35:00.000Z',
      },
    ],
  },
)
export type ZoneDelivery = Static<typeof ZoneDelivery>
