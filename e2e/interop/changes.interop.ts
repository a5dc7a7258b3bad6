import { createHmac } from 'node:crypto'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest'
import type { Delivery, Event } from '#contract/events.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { type Received, startReceiver } from '#server/testing/receiver.ts'
import { type Product, startProduct } from './product.ts'
import { until } from './until.ts'
import { type ServerName, startWorld, type World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})

afterAll(() => world?.end())

test.concurrent.for([
  { asked: 'knot', changed: 'knot' },
  { asked: 'nsd', changed: 'nsd' },
  { asked: 'unbound', changed: 'knot' },
  { asked: 'bind', changed: 'nsd' },
] as const)(
  'a record changed on $changed is reported by a Zonewatch that queries $queried',
  async ({ asked, changed }, { onTestFinished }) => {
    const { product, receiver, webhook } = await givenProduct(asked, onTestFinished)
    const zone = `changing-${changed}.test`
    const monitor = await product.call<Monitor>('POST', '/monitors', {
      domain: zone,
      subdomain: asked,
      record_type: 'A',
      expected_value: ['192.0.2.1'],
    })
    await eventTo(product, monitor, 'VALID')

    await world[changed].change(zone, asked, 'A', ['192.0.2.7', '192.0.2.8'])
    const event = await eventTo(product, monitor, 'MISMATCH')

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

async function givenProduct(asked: ServerName, onTestFinished: TestContext['onTestFinished']) {
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  const product = await startProduct(world.place.folder, world[asked])
  onTestFinished(() => product.stop())
  const webhook = await product.call<Webhook>('POST', '/webhooks', { url: receiver.url, groups: ['default'] })
  return { product, receiver, webhook }
}

/** Has the monitor checked until an event with this state comes: a server may take a moment to serve what was changed. */
async function eventTo(product: Product, { id }: Monitor, state: string): Promise<Event> {
  const look = async () => {
    await product.call('POST', `/monitors/${id}/check`)
    const { data } = await product.call<{ data: Event[] }>('GET', `/monitors/${id}/events`)
    return data.find(({ new_state }) => new_state === state)
  }
  return await until(look, { everyMs: 500, otherwise: () => `the monitor did not become ${state}` })
}

/** What was delivered, once both signatures hold. */
function verified({ body, headers }: Received, { secret }: Webhook): Delivery {
  expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'))
  const signed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  return new StandardWebhook(secret).verify(body, signed) as Delivery
}
