import { expect, test } from 'vitest'
import type { AlertRule, Channel } from '#contract/alerts.ts'
import type { Alert, Incident } from '#contract/incidents.ts'
import type { Monitor } from '#contract/monitors.ts'
import { createApi } from '#server/testing/api-client.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

type Page<T> = { data: T[] }
type Message = { kind: string; title: string; incident: string }

test('an alert for a broken record and one for its recovery are each sent once, even if the server is killed before sending', async () => {
  const { dns, receiver, settings } = await givenEnvironment('sqlite')
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  let server = await givenServer({ ...settings, ...ADMIN })
  let api = createApi(server.url, ADMIN_KEY)
  const endpoint = `${receiver.url}/alerts`
  const { body: channel } = await api.post<Channel>('/channels', { name: 'A', type: 'http', settings: { endpoint } })
  await api.post<AlertRule>('/alert-rules', { name: 'A', channels: [channel.id], delay: 0 })
  const expected = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'] }
  const { body: monitor } = await api.post<Monitor>('/monitors', expected)
  const waitForState = (state: string) =>
    eventually(
      () => api.get<Monitor>(`/monitors/${monitor.id}`),
      ({ body }) => body.state === state,
    )
  await waitForState('VALID')

  dns.set('www.example.com', 'A', ['192.0.2.99'])
  await api.post(`/monitors/${monitor.id}/check`)
  await waitForState('MISMATCH')
  await server.kill()
  server = await givenServer({ ...settings, ...ADMIN })
  api = createApi(server.url, ADMIN_KEY)
  await receiver.waitFor(1)
  // Waits until the delivery is recorded.
  await eventually(
    () => api.get<Page<Alert>>(`/alerts?channel_id=${channel.id}`),
    ({ body }) => body.data[0]?.status === 'SENT',
  )

  dns.set('www.example.com', 'A', ['192.0.2.1'])
  await api.post(`/monitors/${monitor.id}/check`)
  const messages = (await receiver.waitFor(2)).map(({ body }): Message => JSON.parse(body.toString()))
  expect(messages).toMatchObject([
    { kind: 'failing', title: 'www.example.com A: Mismatch' },
    { kind: 'recovered', title: 'www.example.com A: recovered' },
  ])
  const { body } = await api.get<Page<Incident>>('/incidents')
  expect(body.data).toMatchObject([{ id: messages[0]!.incident, zone: 'example.com', monitors: 1, failing: 0 }])
  expect(receiver.received).toHaveLength(2)
}, 180_000)
