/** An event as the API shows it; `events` and deliveries share this form. Instants are ISO 8601 in UTC. */
export type EventPayload = {
  id: string
  monitor_id: string
  occurred: string
  /** Left out where nothing was known before the event. */
  previous_value?: string[] | undefined
  /** Left out where the check learned no value. */
  current_value?: string[] | undefined
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

/**
 * The body of a webhook request, in the order of the specification. It is written once and stored: every attempt and every
 * replay sends these octets. `createdAt` is the instant at which the request was made.
 */
export function newPayload(request: {
  requestId: string
  webhookId: string
  event: EventPayload
  createdAt: number
}): Buffer {
  const { event } = request
  return Buffer.from(
    // JSON leaves out what is undefined, which is how the two values disappear.
    JSON.stringify({
      id: request.requestId,
      webhook_id: request.webhookId,
      event: {
        id: event.id,
        monitor_id: event.monitor_id,
        occurred: event.occurred,
        previous_value: event.previous_value,
        current_value: event.current_value,
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
      },
      created: new Date(request.createdAt).toISOString(),
    }),
  )
}
