import { Event } from '#contract/events.ts'
import type { PayloadMonitor } from '#contract/webhooks.ts'

/** The bytes around those of the event, which are inserted at `eventOffset`. They differ from request to request. */
export type Envelope = { body: Buffer; eventOffset: number }

/** `createdAt`: of the request. `monitor`: the fields in `payload_includes`. `field`: a batch has `events`. */
export function newEnvelope(
  request: {
    requestId: string
    webhookId: string
    createdAt: number
    monitor?: Partial<PayloadMonitor> | undefined
  },
  field: 'event' | 'events' = 'event',
): Envelope {
  const id = JSON.stringify({ id: request.requestId, webhook_id: request.webhookId })
  const head = `${id.slice(0, -1)},"${field}":`
  const created = JSON.stringify(new Date(request.createdAt).toISOString())
  const more = request.monitor ? `,"monitor":${JSON.stringify(request.monitor)}` : ''
  return { body: Buffer.from(`${head},"created":${created}${more}}`), eventOffset: Buffer.byteLength(head) }
}

// In the order of the specification.
const EVENT_FIELDS = Object.keys(Event.properties)
const DOMAIN_FIELDS = Object.keys(Event.properties.domain.properties)

/** The event with the fields of its schema and no others. Stored as it is, so that every attempt sends the same bytes. */
export const eventJson = (event: Event): Buffer =>
  Buffer.from(JSON.stringify({ ...pick(event, EVENT_FIELDS), domain: pick(event.domain, DOMAIN_FIELDS) }))

const pick = (object: object, fields: readonly string[]) =>
  Object.fromEntries(fields.map((field) => [field, object[field as keyof object]]))

/** The whole body of a request. */
export function newPayload(request: {
  requestId: string
  webhookId: string
  event: Event
  createdAt: number
  monitor?: Partial<PayloadMonitor> | undefined
}): Buffer {
  return joinBody(newEnvelope(request), eventJson(request.event))
}

/** An event in a batch, with the same fields as in a request for one event. */
export function batchedEventJson(event: Uint8Array, monitor?: Partial<PayloadMonitor>): Buffer {
  const more = monitor ? `,"monitor":${JSON.stringify(monitor)}` : ''
  return Buffer.concat([Buffer.from('{"event":'), event, Buffer.from(`${more}}`)])
}

/** Bytes of all events of a batch with their commas: receivers accept 1 MiB. One event always fits. */
export const MAX_BATCH_BYTES = 1024 * 1024 - 1024

/** The whole body of a batch. */
export function newBatchBody(request: {
  requestId: string
  webhookId: string
  events: readonly Buffer[]
  createdAt: number
}): Buffer {
  const events = request.events.flatMap((event, index) => (index === 0 ? [event] : [Buffer.from(','), event]))
  const list = Buffer.concat([Buffer.from('['), ...events, Buffer.from(']')])
  return joinBody(newEnvelope(request, 'events'), list)
}

/** The body of a request from its stored bytes, so that every attempt and replay sends the same ones. */
export function joinBody({ body, eventOffset }: Envelope, event: Uint8Array): Buffer {
  return Buffer.concat([body.subarray(0, eventOffset), event, body.subarray(eventOffset)])
}
