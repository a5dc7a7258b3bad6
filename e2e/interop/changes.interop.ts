import { createHmac } from 'node:crypto'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest'
import type { Delivery, Event } from '#contract/events.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { type Received, startReceiver } from '#server/testing/receiver.ts'
import { type DnsNetwork, type ServerName, startDnsNetwork } from './dns-network.ts'
import { until } from './until.ts'
import { startZonewatch, type Zonewatch } from './zonewatch.ts'

let network: DnsNetwork

beforeAll(async () => {
  network = await startDnsNetwork()
})

afterAll(() => network?.end())

test.concurrent.for([
  { queried: 'knot', changed: 'knot' },
  { queried: 'nsd', changed: 'nsd' },
  { queried: 'unbound', changed: 'knot' },
  { queried: 'bind', changed: 'nsd' },
] as const)(
  'a record changed on $changed is reported by a Zonewatch that queries $queried',
  async ({ queried, changed }, { onTestFinished }) => {
    const { zonewatch, receiver, webhook } = await givenZonewatch(queried, onTestFinished)
    const zone = `changing-${changed}.test`
    const monitor = await zonewatch.call<Monitor>('POST', '/monitors', {
      domain: zone,
      subdomain: queried,
      record_type: 'A',
      expected_value: ['192.0.2.1'],
    })
    await waitForEvent(zonewatch, monitor, 'VALID')

    await network[changed].change(zone, queried, 'A', ['192.0.2.7', '192.0.2.8'])
    const event = await waitForEvent(zonewatch, monitor, 'MISMATCH')

    expect(event).toMatchObject({
      old_state: 'VALID',
      previous_value: ['192.0.2.1'],
      current_value: ['192.0.2.7', '192.0.2.8'],
      incidence_count: 1,
    })
    const delivered = (await receiver.waitFor(2, 15_000)).map((request) => verified(request, webhook).event)
    expect(delivered).toContainEqual(expect.objectContaining({ old_state: 'UNSET', new_state: 'VALID' }))
    expect(delivered).toContainEqual(event)
  },
)

async function givenZonewatch(queried: ServerName, onTestFinished: TestContext['onTestFinished']) {
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  const zonewatch = await startZonewatch(network.workspace.folder, network[queried])
  onTestFinished(() => zonewatch.stop())
  const webhook = await zonewatch.call<Webhook>('POST', '/webhooks', { url: receiver.url, groups: ['default'] })
  return { zonewatch, receiver, webhook }
}

/** Requests checks until an event with this state exists: a server may need a moment to serve the change. */
async function waitForEvent(zonewatch: Zonewatch, { id }: Monitor, state: string): Promise<Event> {
  const checkAndFind = async () => {
    await zonewatch.call('POST', `/monitors/${id}/check`)
    const { data } = await zonewatch.call<{ data: Event[] }>('GET', `/monitors/${id}/events`)
    return data.find(({ new_state }) => new_state === state)
  }
  return await until(checkAndFind, { everyMs: 500, failure: () => `the monitor did not become ${state}` })
}

/** Verifies both signatures and returns the delivery. */
function verified({ body, headers }: Received, { secret }: Webhook): Delivery {
  expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'))
  const signed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  return new StandardWebhook(secret).verify(body, signed) as Delivery
}
