import type { Event } from '#contract/events.ts'
import type { WebhookRequestInFull } from '#contract/webhooks.ts'

/** What a request tells of: one event, or those of a batch. */
export const eventsIn = (payload: WebhookRequestInFull['payload']): Event[] =>
  'events' in payload ? payload.events.map(({ event }) => event) : [payload.event]
