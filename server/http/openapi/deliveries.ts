const header = (name: string, type: 'string' | 'integer', description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type },
})

/** What this service sends, for the document's `webhooks`. */
export const webhooks = {
  change: {
    post: {
      operationId: 'receiveChange',
      tags: ['Webhooks'],
      summary: 'Receive a change',
      description:
        'Sent to the `url` of a webhook for every change in its groups that the `notify` of the monitor lets through. The same request can come several times: remember its `id`. Anything but 2xx within 30 seconds is tried again nine times over almost two days; 410 pauses the webhook.',
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
          'Unix seconds of this attempt: refuse what is more than 300 seconds off.',
        ),
        header('webhook-id', 'string', 'As `id` in the body (Standard Webhooks).'),
        header('webhook-timestamp', 'integer', 'As X-Webhook-Timestamp (Standard Webhooks).'),
        header(
          'webhook-signature',
          'string',
          'Covers id, time and body; two during the grace of a rotation (Standard Webhooks).',
        ),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Delivery' } } },
      },
      responses: {
        '2XX': { description: 'It was received.' },
        '401': { description: 'Answer so when the signature does not hold.' },
        '410': { description: 'The endpoint no longer exists: the webhook is paused at once.' },
      },
    },
  },
}
