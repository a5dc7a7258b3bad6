import { expect, test } from 'vitest'
import type { Event } from '#contract/events.ts'
import { newPayload } from './payload.ts'

const event: Event = {
  id: 'evt_1',
  monitor_id: 'mon_1',
  occurred: '2026-01-01T00:00:00.000Z',
  previous_value: ['192.0.2.1'],
  current_value: ['192.0.2.2'],
  old_state: 'VALID',
  new_state: 'MISMATCH',
  incidence_count: 1,
  domain: {
    domain: 'example.com',
    subdomain: '',
    record_type: 'A',
    expected_value: ['192.0.2.1'],
    is_exact_match: true,
  },
}

const payloadOf = (sent: Event = event) =>
  newPayload({
    requestId: 'req_1',
    webhookId: 'whk_1',
    event: sent,
    createdAt: Date.UTC(2026, 0, 1, 0, 0, 1),
  }).toString()

test('a payload has the fields of the specification, in the same order', () => {
  expect(payloadOf()).toBe(
    '{"id":"req_1","webhook_id":"whk_1","event":{"id":"evt_1","monitor_id":"mon_1","occurred":"2026-01-01T00:00:00.000Z",' +
      '"previous_value":["192.0.2.1"],"current_value":["192.0.2.2"],"old_state":"VALID","new_state":"MISMATCH",' +
      '"incidence_count":1,"domain":{"domain":"example.com","subdomain":"","record_type":"A",' +
      '"expected_value":["192.0.2.1"],"is_exact_match":true}},"created":"2026-01-01T00:00:01.000Z"}',
  )
})

test('unknown values are left out, and an empty list is not', () => {
  const { previous_value: _, ...withoutPrevious } = event
  const parsed = JSON.parse(payloadOf({ ...withoutPrevious, current_value: [] }))

  expect(parsed.event).not.toHaveProperty('previous_value')
  expect(parsed.event.current_value).toEqual([])
})

test('fields of an event that are not in the specification are not sent', () => {
  const wider = {
    ...event,
    ...{ diagnosis: 'secret', organization: 'org_1', subdomain: 'www' },
    domain: { ...event.domain, owner: 'example.com', id: 'mon_1' },
  }

  expect(payloadOf(wider)).toBe(payloadOf())
})
