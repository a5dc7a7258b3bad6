import { firstExample } from '#contract/common.ts'
import { Delivery, DeliveryBatch } from '#contract/events.ts'

const header = (name: string, type: 'string' | 'integer', description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type },
})

/** The requests that Zonewatch sends. */
export const webhooks = {
  change: {
    post: {
      operationId: 'receiveChange',
      tags: ['Webhooks'],
      summary: 'Receive a change',
      description:
        'Zonewatch sends this request to the `url` of each webhook in the group of a monitor when the monitor changes and its `notify` matches. The same request can arrive more than once: use `id` to detect duplicates. Without a 2xx response within 30 seconds, Zonewatch retries nine times over almost two days. A 410 pauses the webhook immediately.',
      security: [],
      parameters: [
        header(
          'X-Service-Signature',
          'string',
          'Hex HMAC-SHA256 of the raw body, keyed with the secret of the webhook.',
        ),
        header(
          'X-Webhook-Timestamp',
          'integer',
          'Unix time of this attempt in seconds. Reject requests that are more than 300 seconds off.',
        ),
        header('webhook-id', 'string', 'The `id` of the body (Standard Webhooks).'),
        header('webhook-timestamp', 'integer', 'The value of X-Webhook-Timestamp (Standard Webhooks).'),
        header(
          'webhook-signature',
          'string',
          'Signs id, time and body. Has two signatures during the grace period of a rotation (Standard Webhooks).',
        ),
      ],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: {
              anyOf: [{ $ref: '#/components/schemas/Delivery' }, { $ref: '#/components/schemas/DeliveryBatch' }],
            },
            examples: { change: { value: firstExample(Delivery) }, batch: { value: firstExample(DeliveryBatch) } },
          },
        },
      },
      responses: {
        '2XX': { description: 'It was received.' },
        '401': { description: 'Your endpoint rejected the signature. Zonewatch retries.' },
        '410': { description: 'The endpoint no longer exists. Zonewatch pauses the webhook immediately.' },
      },
    },
  },
}
