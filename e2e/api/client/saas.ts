import { strict as assert } from 'node:assert'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

// A SaaS with the domains of its customers, three monitors each: onboards them, changes some, exports all and offboards all, within the limits
// that the server states, and counts the changes that its webhook receives. Uses the types that openapi-typescript generates from
// /openapi.json and nothing else of Zonewatch, and keeps no id of Zonewatch: saas.ts <url> <API key named SaaS> <customers>.
// Every name must have the one address 192.0.2.1.

type Schemas = components['schemas']

const [baseUrl = '', firstKey = '', customersText = '20000'] = process.argv.slice(2)
const customers = Number(customersText)
const NAMES = ['www', 'shop', 'mail']
/** As many whole customers as a request may have monitors for. */
const AT_ONCE = 333
/** For what hangs. */
const PATIENCE_MS = 60_000 + customers * 200

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
    const seconds = Number(result.response.headers.get('Retry-After'))
    assert(seconds >= 1 && seconds <= 60)
    waitedSeconds += seconds
    await sleep(seconds * 1_000)
  }
}

async function dataOf<T>(request: () => Promise<Result<T>>): Promise<T> {
  const { data, error } = await send(request)
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

const phases: Record<string, { requests: number; seconds: number }> = {}
async function phase<T>(name: string, work: () => Promise<T>): Promise<T> {
  const [from, startedAt] = [requests, performance.now()]
  const result = await work()
  phases[name] = { requests: requests - from, seconds: Math.round((performance.now() - startedAt) / 100) / 10 }
  return result
}

async function eventually(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + PATIENCE_MS
  while (!(await isSo())) {
    assert(performance.now() < giveUpAt, `${what}: not so in time; ${arrived.size} events arrived`)
    await sleep(1_000)
  }
}

/** The changes that arrived: of which monitor, by our own id, and to which state. Each must come in one request only. */
const arrived = new Map<string, { externalId: string; states: string }>()
const bodies = new Map<string, string>()
let secret = ''
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  assert.equal(request.headers['x-service-signature'], signature)
  const batch: Schemas['DeliveryBatch'] = JSON.parse(body.toString())
  const before = bodies.get(batch.id)
  // A request may be repeated with the same octets; it is worked on once.
  if (before === undefined) {
    bodies.set(batch.id, signature)
    for (const { event, monitor } of batch.events) {
      assert(!arrived.has(event.id), `${event.id} is in two requests`)
      const states = `${event.old_state} ${event.new_state}`
      arrived.set(event.id, { externalId: monitor?.external_id ?? '', states })
    }
  } else assert.equal(before, signature)
  response.writeHead(204).end()
}).listen(0, '127.0.0.1')
await once(receiver, 'listening')

const nameOf = (customer: number) => `customer-${customer}`
/** Every tenth has a server of its own, whose address changes. */
const isDedicated = (customer: number) => customer % 10 === 1
const monitorsOf = (customer: number): Schemas['NewMonitor'][] =>
  NAMES.map((name) => ({
    full_domain: `${name}.${nameOf(customer)}.example`,
    record_type: 'A',
    expected_value: ['192.0.2.1'],
    group: customer === 0 ? 'first-customer' : 'customers',
    frequency: 120,
    external_id: `${nameOf(customer)}/${name}`,
    tags: isDedicated(customer) ? ['dedicated'] : [],
    metadata: { customer: String(customer) },
  }))
const all = Array.from({ length: customers }, (_, customer) => customer)
const expected = all.flatMap((customer) => NAMES.map((name) => `${nameOf(customer)}/${name}`)).toSorted()
const dedicated = expected.filter((id) => isDedicated(Number(id.slice('customer-'.length, id.indexOf('/')))))

await phase('create a webhook', async () => {
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  const batch = { max_events: 100, max_wait_seconds: 2 }
  const body = { url, all_groups: true, payload_includes: ['external_id' as const], batch }
  const made = await dataOf(() => client.POST('/webhooks', { body }))
  secret = made.secret
})

const createSome = (from: number) => {
  const body = { monitors: all.slice(from, from + AT_ONCE).flatMap(monitorsOf) }
  const params = { header: { 'Idempotency-Key': `onboarding-${from}` } }
  return send(() => client.POST('/monitors/bulk', { params, body }))
}
await phase('onboard', async () => {
  for (let from = 0; from < customers; from += AT_ONCE) {
    const { response, data } = await createSome(from)
    assert.deepEqual([response.status, data?.length], [201, Math.min(AT_ONCE, customers - from) * NAMES.length])
  }
})

await phase('rotate the key and repeat a request', async () => {
  const keys = await dataOf(() => client.GET('/api-keys', { params: { query: { state: 'active', limit: 100 } } }))
  const own = keys.data.find(({ name }) => name === 'SaaS')
  assert(own)
  const params = { path: { key: own.id } }
  const rotated = await dataOf(() => client.POST('/api-keys/{key}/rotate', { params, body: { grace_hours: 1 } }))
  assert.match(rotated.key, /^zw_\w{43}$/)
  key = rotated.key
  // As if the answer to a request had been lost: with the new key nothing is made twice.
  const again = await createSome(0)
  assert.deepEqual([again.response.status, again.response.headers.get('Idempotent-Replayed')], [201, 'true'])
})

/** Each of these monitors had this change exactly once, and nothing else arrived. */
function assertArrived(ids: readonly string[], states: string): void {
  const its = [...arrived.values()].filter((each) => each.states === states)
  assert.deepEqual(its.map(({ externalId }) => externalId).toSorted(), ids)
}
await phase('receive the first result of each', async () => {
  await eventually('the first results', () => arrived.size >= expected.length)
  assertArrived(expected, 'UNSET VALID')
  const counts = await dataOf(() => client.GET('/monitors/counts'))
  assert.deepEqual([counts.states.VALID, counts.is_partial], [expected.length, false])
})

await phase('find a customer', async () => {
  const customer = String(customers - 1)
  const query = { customer, include: ['external_id' as const] }
  const page = await dataOf(() => client.GET('/monitors', { params: { query } }))
  const ids = page.data.map(({ external_id }) => external_id).toSorted()
  assert.deepEqual(ids, NAMES.map((name) => `${nameOf(customers - 1)}/${name}`).toSorted())
})

/** Follows a job to its end. */
async function perform(body: Schemas['NewJob'], changed: number): Promise<void> {
  const { id } = await dataOf(() => client.POST('/jobs', { body }))
  let job: Schemas['Job'] | undefined
  await eventually(`the job ${body.action}`, async () => {
    job = await dataOf(() => client.GET('/jobs/{job}', { params: { path: { job: id } } }))
    return job.finished !== null
  })
  assert.deepEqual([job?.state, job?.total, job?.changed, job?.failed], ['finished', changed, changed, 0])
}
await phase('change one customer of ten', async () => {
  const values = { value: '192.0.2.1', replacement: '192.0.2.2' }
  await perform({ action: 'replace', filter: { tag: 'dedicated' }, ...values }, dedicated.length)
})
await phase('receive each change', async () => {
  await eventually('the changes', () => arrived.size >= expected.length + dedicated.length)
  assertArrived(dedicated, 'UNSET MISMATCH')
})

await phase('export', async () => {
  const answer = await dataOf(() => client.GET('/monitors/export', { params: { query: { format: 'json' } } }))
  assert(typeof answer !== 'string')
  const exported = answer
  assert.deepEqual(exported.map(({ external_id }) => external_id).toSorted(), expected)
  const changed = new Set(dedicated)
  for (const { external_id, full_domain, ...monitor } of exported.map(withName)) {
    const [customer, name] = String(external_id).split('/')
    const [address, state] = changed.has(String(external_id)) ? ['192.0.2.2', 'MISMATCH'] : ['192.0.2.1', 'VALID']
    assert.deepEqual([full_domain, monitor.expected_value], [`${name}.${customer}.example`, [address]])
    assert.deepEqual([monitor.state, monitor.metadata?.customer], [state, customer?.slice('customer-'.length)])
  }
  const perCustomer = Map.groupBy(exported, ({ metadata }) => metadata?.customer)
  assert.equal(perCustomer.size, customers)
  for (const monitors of perCustomer.values()) assert.equal(monitors.length, NAMES.length)
})
function withName(monitor: Schemas['ExportedMonitors'][number]) {
  return { ...monitor, full_domain: `${monitor.subdomain}.${monitor.domain}` }
}

await phase('read the list page by page', async () => {
  const read: string[] = []
  let after: string | null = null
  do {
    const cursor: { after?: string } = after === null ? {} : { after }
    const query = { limit: 100, include: ['external_id' as const], ...cursor }
    const page: Schemas['MonitorPage'] = await dataOf(() => client.GET('/monitors', { params: { query } }))
    read.push(...page.data.map(({ external_id }) => String(external_id)))
    after = page.after
  } while (after !== null)
  assert.deepEqual(read.toSorted(), expected)
})

await phase('offboard', async () => {
  const params = { path: { group: 'first-customer' }, query: { monitors: 'delete' as const } }
  const { response } = await send(() => client.DELETE('/groups/{group}', { params }))
  assert.equal(response.status, 204)
  await perform({ action: 'delete', filter: { group: 'customers' } }, expected.length - NAMES.length)
  await send(() => client.DELETE('/groups/{group}', { params: { path: { group: 'customers' } } }))
})
const monitors = await dataOf(() => client.GET('/monitors'))
const groups = await dataOf(() => client.GET('/groups'))
assert.deepEqual([monitors.data, groups.data.map(({ slug }) => slug)], [[], ['default']])
await eventually('everything is delivered', async () => {
  const waiting = await dataOf(() => client.GET('/webhook-requests'))
  return waiting.data.length === 0
})
assert.equal(arrived.size, expected.length + dedicated.length)

receiver.close()
receiver.closeAllConnections()
const events = arrived.size
process.stdout.write(`${JSON.stringify({ customers, requests, waitedSeconds, events, bodies: bodies.size, phases })}\n`)
