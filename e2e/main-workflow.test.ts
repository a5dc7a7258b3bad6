import { createHmac } from 'node:crypto'
import { Webhook as Verifier } from 'standardwebhooks'
import { expect, test } from 'vitest'
import type { Delivery, Event } from '#contract/events.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook, WebhookRequest } from '#contract/webhooks.ts'
import { createApi } from '#server/testing/api-client.ts'
import type { Received } from '#server/testing/receiver.ts'
import { runCommand } from '#server/testing/server-process.ts'
import { eventually, givenEnvironment, givenServer, SEVERAL_PROCESSES } from '#server/testing/test-server.ts'

type Page<T> = { data: T[] }

test.each(['sqlite', 'postgres'] as const)(
  'a user sets up, monitors a record, is notified of a change, and finds everything after a restart (%s)',
  async (engine) => {
    const { dns, receiver, ...world } = await givenEnvironment(engine, { isMigrated: false })
    const settings = { ...world.settings, ...SEVERAL_PROCESSES }
    dns.set('www.example.com', 'A', ['192.0.2.1'])
    const first = await givenServer(settings)

    const setup = await runCommand(
      ['setup', '--organization', 'Example Ltd', '--email', 'me@example.com', '--password', 'a long one', '--json'],
      settings,
    )
    expect(setup).toMatchObject({ code: 0, stderr: '' })
    const { api_key: key, organization } = JSON.parse(setup.stdout)
    expect(organization).toBe('example-ltd')

    const api = createApi(first.url, key)
    const { body: webhook } = await api.post<Webhook>('/webhooks', { url: `${receiver.url}/dns`, groups: ['default'] })
    expect(webhook.secret).toMatch(/^whsec_.{44}$/)
    const created = await api.post<Monitor>('/monitors', {
      full_domain: 'www.example.com',
      record_type: 'A',
      expected_value: ['192.0.2.1'],
    })
    expect(created).toMatchObject({ status: 201, body: { state: 'UNSET', domain: 'example.com', subdomain: 'www' } })
    const monitorPath = `/monitors/${created.body.id}`
    await receiver.waitFor(1)

    dns.set('www.example.com', 'A', ['192.0.2.99'])
    expect((await api.post(`${monitorPath}/check`)).status).toBe(202)
    const [found, changed] = (await receiver.waitFor(2)).map((request) => verified(request, webhook.secret))

    expect(found!.event).toMatchObject({ old_state: 'UNSET', new_state: 'VALID', current_value: ['192.0.2.1'] })
    expect(changed).toMatchObject({
      id: expect.stringMatching(/^req_/),
      webhook_id: webhook.id,
      event: {
        monitor_id: created.body.id,
        ...{ old_state: 'VALID', new_state: 'MISMATCH', incidence_count: 1 },
        ...{ previous_value: ['192.0.2.1'], current_value: ['192.0.2.99'] },
        domain: { domain: 'example.com', subdomain: 'www', record_type: 'A', expected_value: ['192.0.2.1'] },
      },
    })
    const requestsPath = `/webhooks/${webhook.id}/requests`
    const delivered = await eventually(
      () => api.get<Page<WebhookRequest>>(requestsPath),
      ({ body }) => body.data.length === 2 && body.data.every(({ status }) => status === 'DELIVERED'),
    )
    expect(delivered.body.data.map(({ event_id }) => event_id)).toEqual([found!.event.id, changed!.event.id])

    const paths = [`${monitorPath}?include=frequency,group,diagnosis`, `${monitorPath}/events`, '/webhooks', '/groups']
    const before = await Promise.all([...paths, requestsPath].map((path) => api.get(path)))
    expect((before[1]!.body as Page<Event>).data).toEqual([found!.event, changed!.event])
    first.send('SIGTERM')
    expect(await first.ended).toMatchObject({ code: 0, stderr: '' })

    const second = await givenServer(settings)
    const restartedApi = createApi(second.url, key)
    const after = await Promise.all([...paths, requestsPath].map((path) => restartedApi.get(path)))
    expect(after.map(({ body }) => body)).toEqual(before.map(({ body }) => body))

    dns.remove('www.example.com', 'A')
    await restartedApi.post(`${monitorPath}/check`)
    const third = verified((await receiver.waitFor(3))[2]!, webhook.secret)
    expect(third.event).toMatchObject({ old_state: 'MISMATCH', new_state: 'NOT_FOUND', current_value: [] })
    expect(receiver.received).toHaveLength(3)
  },
)

/** Verifies both signatures by the published rules, without our own code, and parses the body. */
function verified({ method, path, headers, body }: Received, secret: string): Delivery {
  expect([method, path, headers['content-type']]).toEqual(['POST', '/dns', 'application/json'])
  expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'))
  expect(Math.abs(Date.now() / 1000 - Number(headers['x-webhook-timestamp']))).toBeLessThan(300)
  return new Verifier(secret).verify(body.toString(), headers as Record<string, string>) as Delivery
}
