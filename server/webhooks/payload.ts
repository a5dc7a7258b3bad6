import type { PayloadMonitor } from '#contract/webhooks.ts'

/** An event as in the API and in deliveries. Instants are ISO 8601 in UTC. */
export type EventPayload = {
  id: string
  monitor_id: string
  occurred: string
  /** Absent if no value was known before the event. */
  previous_value?: string[] | undefined
  /** Absent if the check found no value. */
  current_value?: string[] | undefined
  /** Present if values were shortened. */
  truncated?: true | undefined
  /** Present if a wait for the expected records timed out. */
  timed_out?: true | undefined
  old_state: string
  new_state: string
  incidence_count: number
  domain: {
    domain: string
    subdomain: string
    record_type: string
    expected_value: string[]
    is_exact_match: boolean
  }
}

/** The bytes around those of the event, which are inserted at `eventOffset`. They differ from request to request. */
export type Envelope = { body: Buffer; eventOffset: number }

/** `createdAt`: of the request. `monitor`: the fields in `payload_includes`. */
export function newEnvelope(request: {
  requestId: string
  webhookId: string
  createdAt: number
  monitor?: Partial<PayloadMonitor> | undefined
}): Envelope {
  const id = JSON.stringify({ id: request.requestId, webhook_id: request.webhookId })
  const head = `${id.slice(0, -1)},"event":`
  const created = JSON.stringify(new Date(request.createdAt).toISOString())
  const more = request.monitor ? `,"monitor":${JSON.stringify(request.monitor)}` : ''
  return { body: Buffer.from(`${head},"created":${created}${more}}`), eventOffset: Buffer.byteLength(head) }
}

/** The event with its fields in the order of the specification. Stored as it is, so that every attempt sends the same bytes. */
export function eventJson(event: EventPayload): Buffer {
  return Buffer.from(
    // JSON leaves out undefined fields.
    JSON.stringify({
      id: event.id,
      monitor_id: event.monitor_id,
      occurred: event.occurred,
      previous_value: event.previous_value,
      current_value: event.current_value,
      truncated: event.truncated,
      timed_out: event.timed_out,
      old_state: event.old_state,
      new_state: event.new_state,
      incidence_count: event.incidence_count,
      domain: {
        domain: event.domain.domain,
        subdomain: event.domain.subdomain,
        record_type: event.domain.record_type,
        expected_value: event.domain.expected_value,
        is_exact_match: event.domain.is_exact_match,
      },
    }),
  )
}

/** The whole body of a request. */
export function newPayload(request: {
  requestId: string
  webhookId: string
  event: EventPayload
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
  const id = JSON.stringify({ id: request.requestId, webhook_id: request.webhookId })
  const events = request.events.flatMap((event, index) => (index === 0 ? [event] : [Buffer.from(','), event]))
  const created = JSON.stringify(new Date(request.createdAt).toISOString())
  const head = Buffer.from(`${id.slice(0, -1)},"events":[`)
  return Buffer.concat([head, ...events, Buffer.from(`],"created":${created}}`)])
}

/** The body of a request from its stored bytes, so that every attempt and replay sends the same ones. */
export function joinBody({ body, eventOffset }: Envelope, event: Uint8Array): Buffer {
  return Buffer.concat([body.subarray(0, eventOffset), event, body.subarray(eventOffset)])
}
