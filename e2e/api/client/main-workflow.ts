import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

// The main job of an integration, with the types that openapi-typescript generates from /openapi.json and nothing else of Zonewatch.
// client.test.ts generates ./api.ts beside a copy of this file, checks the types of both, and runs it: main-workflow.ts <url> <API key>

type Schemas = components['schemas']

const [baseUrl = '', key = ''] = process.argv.slice(2)
const client = createClient<paths>({
  baseUrl,
  headers: { 'X-Api-Key': key },
  // As the document says of `include`.
  querySerializer: { array: { style: 'form', explode: false } },
})

const deliveries: Schemas['Delivery'][] = []
const receiver = createServer(async (request, response) => {
  deliveries.push((await json(request)) as Schemas['Delivery'])
  response.end()
  receiver.emit('delivery')
})
receiver.listen(0, '127.0.0.1')
await once(receiver, 'listening')
const { port } = receiver.address() as AddressInfo

const group = dataOf(await client.POST('/groups', { body: { name: 'Shop' } }))
const webhook = dataOf(
  await client.POST('/webhooks', { body: { url: `http://127.0.0.1:${port}/dns`, groups: [group.id] } }),
)
assert.match(webhook.secret, /^whsec_/)

const watched = (name: string): Schemas['NewMonitor'] => ({
  full_domain: `${name}.example.com`,
  record_type: 'A',
  expected_value: ['192.0.2.1'],
  group: group.slug,
})
const create = () =>
  client.POST('/monitors', { params: { header: { 'Idempotency-Key': 'www-1' } }, body: watched('www') })
const monitor = dataOf(await create())
assert.equal(dataOf(await create()).id, monitor.id)
const many = dataOf(
  await client.POST('/monitors/bulk', { body: { monitors: [watched('api'), watched('cdn'), watched('old')] } }),
)
while (deliveries.length < 4) await once(receiver, 'delivery')
assert.deepEqual(deliveries.map(({ event }) => event.monitor_id).sort(), [monitor, ...many].map(({ id }) => id).sort())

const found: Schemas['Monitor'][] = []
let after: string | null = null
do {
  const query = { group: group.slug, state: 'VALID', record_type: 'A', order_by: 'subdomain', limit: 3 } as const
  const page: Schemas['MonitorPage'] = dataOf(
    await client.GET('/monitors', { params: { query: after === null ? query : { ...query, after } } }),
  )
  found.push(...page.data)
  after = page.after
} while (after !== null)
assert.deepEqual(
  found.map(({ subdomain, current_value }) => [subdomain, current_value]),
  ['api', 'cdn', 'www'].map((name) => [name, ['192.0.2.1']]),
)

const one = { path: { monitor: monitor.id } }
const read = await client.GET('/monitors/{monitor}', {
  params: { ...one, query: { include: ['frequency', 'group', 'reason', 'diagnosis'] } },
})
const shown = dataOf(read)
assert.deepEqual([shown.group, shown.frequency], [group.slug, 5])
assert.equal(shown.diagnosis?.paths[0]?.outcome?.kind, 'answer')
assert(shown.reason?.code === 'as_expected')
assert.deepEqual([shown.reason.params.matched, shown.reason.params.missing], [['192.0.2.1'], []])
const change = (frequency: number) =>
  client.PATCH('/monitors/{monitor}', {
    params: { ...one, header: { 'If-Match': read.response.headers.get('ETag') ?? '' } },
    body: { frequency },
  })
assert.equal((await change(10)).response.status, 200)
const late = errorOf(await change(15))
assert.deepEqual([late.code, late.errors], [412, undefined])

const events = dataOf(
  await client.GET('/events', { params: { query: { monitor_id: monitor.id, new_state: 'VALID', limit: 100 } } }),
).data
const event = events[0]
assert(event)
assert.deepEqual([events.length, event], [1, deliveries.find(({ event }) => event.monitor_id === monitor.id)?.event])
const evidence = dataOf(
  await client.GET('/monitors/{monitor}/events/{event}', {
    params: { path: { monitor: monitor.id, event: event.id }, query: { include: ['diagnosis'] } },
  }),
)
assert.equal(evidence.diagnosis?.paths[0]?.rcode, 'NOERROR')

const refused = errorOf(
  await client.POST('/monitors', {
    // @ts-expect-error: there is no such record type.
    body: { ...watched('mail'), record_type: 'B', frequency: 1 },
  }),
)
assert.deepEqual([refused.code, Object.keys(refused.errors ?? {}).sort()], [400, ['frequency', 'record_type']])
// @ts-expect-error: a group needs a name.
assert.deepEqual(Object.keys(errorOf(await client.POST('/groups', { body: {} })).errors ?? {}), ['name'])
// @ts-expect-error: there is no such filter.
const unknown = await client.GET('/monitors', { params: { query: { zone: 'example.com' } } })
assert.deepEqual(Object.keys(errorOf(unknown).errors ?? {}), ['zone'])

const deleted = [
  await client.DELETE('/monitors/{monitor}', { params: one }),
  await client.DELETE('/webhooks/{webhook}', { params: { path: { webhook: webhook.id } } }),
  await client.DELETE('/groups/{group}', { params: { path: { group: group.id } } }),
]
assert.deepEqual(
  deleted.map(({ response }) => response.status),
  [204, 204, 204],
)
assert.equal(errorOf(await client.GET('/monitors/{monitor}', { params: one })).code, 404)

receiver.close()
receiver.closeAllConnections()
/** Throws with the error where there is one. */
function dataOf<T>({ data, error }: { data?: T; error?: Schemas['Error'] }): T {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

function errorOf({ data, error }: { data?: unknown; error?: Schemas['Error'] }): Schemas['Error'] {
  if (error === undefined) throw new Error(`no error but ${JSON.stringify(data)}`)
  return error
}
