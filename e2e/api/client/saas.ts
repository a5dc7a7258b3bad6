import { strict as assert } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

// A SaaS with the domains of its customers: onboards them, changes some, exports all, and offboards all, within the limits that the server
// states. Uses the types that openapi-typescript generates from /openapi.json and nothing else of Zonewatch:
// saas.ts <url> <API key> <customers>. With CLOCK, it asks that address to move the server's clock instead of waiting.

type Schemas = components['schemas']

const [baseUrl = '', firstKey = '', customersText = '20000'] = process.argv.slice(2)
const customers = Number(customersText)
const NAMES = ['www', 'shop', 'mail']
const BATCH = 333

let key = firstKey
let requests = 0
let waitedSeconds = 0
const client = createClient<paths>({ baseUrl, querySerializer: { array: { style: 'form', explode: false } } })
client.use({
  onRequest({ request }) {
    request.headers.set('X-Api-Key', key)
    return request
  },
})

type Result<T> = { data?: T; error?: Schemas['Error']; response: Response }

/** The result of a request, after as many pauses as the server asks for. */
async function send<T>(request: () => Promise<Result<T>>): Promise<Result<T>> {
  for (;;) {
    requests++
    const result = await request()
    if (result.response.status !== 429) return result
    assert.equal(result.response.headers.get('X-RateLimit-Remaining'), '0')
    await wait(Number(result.response.headers.get('Retry-After')))
  }
}

async function wait(seconds: number): Promise<void> {
  assert(seconds >= 1 && seconds <= 60)
  waitedSeconds += seconds
  if (process.env.CLOCK) await fetch(`${process.env.CLOCK}/${seconds}`)
  else await sleep(seconds * 1_000)
}

async function dataOf<T>(request: () => Promise<Result<T>>): Promise<T> {
  const { data, error } = await send(request)
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

const phases: Record<string, number> = {}
async function phase<T>(name: string, work: () => Promise<T>): Promise<T> {
  const from = requests
  const result = await work()
  phases[name] = requests - from
  return result
}

const slugOf = (customer: number) => `customer-${customer}`
const monitorsOf = (customer: number): Schemas['NewMonitor'][] =>
  NAMES.map((name) => ({
    full_domain: `${name}.customer-${customer}.example`,
    record_type: 'A',
    expected_value: ['192.0.2.1'],
    group: slugOf(customer),
    frequency: 120,
  }))

/** 333 customers in each request; the group of each is made with its first monitor. */
const createBatch = (from: number) => {
  const numbers = Array.from({ length: Math.min(BATCH, customers - from) }, (_, place) => from + place)
  const body = { monitors: numbers.flatMap(monitorsOf) }
  const params = { header: { 'Idempotency-Key': `onboarding-${from}` } }
  return send(() => client.POST('/monitors/bulk', { params, body }))
}

await phase('onboard', async () => {
  for (let from = 0; from < customers; from += BATCH) {
    const { response, data } = await createBatch(from)
    assert.deepEqual([response.status, data?.length], [201, Math.min(BATCH, customers - from) * NAMES.length])
  }
})

await phase('rotate the key and repeat a request', async () => {
  const keys = await dataOf(() => client.GET('/api-keys', { params: { query: { state: 'active', limit: 100 } } }))
  const own = keys.data.find(({ name }) => name === 'SaaS')
  assert(own)
  const rotated = await dataOf(() =>
    client.POST('/api-keys/{key}/rotate', { params: { path: { key: own.id } }, body: { grace_hours: 1 } }),
  )
  assert.match(rotated.key, /^zw_\w{43}$/)
  key = rotated.key
  // As if the answer to the last request had been lost: with the new key nothing is made twice.
  const again = await createBatch(0)
  assert.deepEqual([again.response.status, again.response.headers.get('Idempotent-Replayed')], [201, 'true'])
})

const changed = Array.from({ length: Math.max(1, customers / 100) }, (_, place) => place * 7 + 1)
await phase('change one of a hundred', async () => {
  for (const customer of changed) {
    const query = { group: slugOf(customer), limit: 10, include: ['group' as const] }
    const page = await dataOf(() => client.GET('/monitors', { params: { query } }))
    assert.equal(page.data.length, NAMES.length)
    for (const { id } of page.data) {
      const body = { expected_value: ['192.0.2.2'] }
      await dataOf(() => client.PATCH('/monitors/{monitor}', { params: { path: { monitor: id } }, body }))
    }
  }
})

const exported: Schemas['Monitor'][] = []
await phase('export', async () => {
  const query = { limit: 100, include: ['group' as const] }
  let after: string | null = null
  do {
    const cursor: { after?: string } = after === null ? {} : { after }
    const page: Schemas['MonitorPage'] = await dataOf(() =>
      client.GET('/monitors', { params: { query: { ...query, ...cursor } } }),
    )
    exported.push(...page.data)
    after = page.after
  } while (after !== null)
  const first = await send(() => client.GET('/monitors', { params: { query } }))
  const headers = { 'If-None-Match': first.response.headers.get('ETag') ?? '' }
  const same = await send(() => client.GET('/monitors', { params: { query }, headers }))
  assert.equal(same.response.status, 304)
})
const byCustomer = Map.groupBy(exported, ({ group }) => group)
assert.deepEqual([exported.length, byCustomer.size], [customers * NAMES.length, customers])
for (const [slug, monitors] of byCustomer) {
  const address = changed.some((customer) => slugOf(customer) === slug) ? '192.0.2.2' : '192.0.2.1'
  assert.deepEqual(
    monitors.map(({ subdomain, expected_value }) => [subdomain, ...expected_value]),
    NAMES.map((name) => [name, address]),
  )
}

await phase('offboard', async () => {
  for (const [slug, monitors] of byCustomer) {
    for (const { id } of monitors) {
      const { response } = await send(() => client.DELETE('/monitors/{monitor}', { params: { path: { monitor: id } } }))
      assert.equal(response.status, 204)
    }
    const { response } = await send(() => client.DELETE('/groups/{group}', { params: { path: { group: slug ?? '' } } }))
    assert.equal(response.status, 204)
  }
})
const left = await dataOf(() => client.GET('/groups'))
assert.deepEqual(
  [(await dataOf(() => client.GET('/monitors'))).data, left.data.map(({ slug }) => slug)],
  [[], ['default']],
)
process.stdout.write(`${JSON.stringify({ customers, requests, phases, waitedSeconds })}\n`)
