import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { insertOrganization } from '../server/accounts/organizations.ts'
import { insertDue, newPendingAlert } from '../server/alerts/alert-store.ts'
import { systemClock } from '../server/clock.ts'
import { systemContext } from '../server/context.ts'
import { type Database, inTransaction } from '../server/database/database.ts'
import { openDatabase } from '../server/database/open.ts'
import { createKeyring, type Keyring } from '../server/keyring.ts'
import { startDnsTree } from '../server/testing/dns-server-tree.ts'
import { startReceiver } from '../server/testing/receiver.ts'
import { startServer } from '../server/testing/server-process.ts'
import { insertRequests, type ReportedEvent } from '../server/webhooks/new-requests.ts'
import { insertWebhook } from '../server/webhooks/webhook-store.ts'
import { readOptions } from './options.ts'

/**
 * What one organization can do to another on a real server with one worker process: the latency of the other organization's work
 * alone, and while the first one attacks. Each attack has a server of its own. SQLite; about three minutes.
 */
const ATTACKS = ['alerts', 'webhooks', 'checks', 'answers', 'recurrence'] as const
const { values: options } = readOptions({
  options: {
    json: { type: 'boolean', default: false },
    attacks: { type: 'string', default: ATTACKS.join(',') },
    samples: { type: 'string', default: '7' },
  },
})

const SAMPLES = Number(options.samples)
/** Alerts and requests that are written into the database are due after this, so that the server reads them before. */
const AHEAD_MS = 3_000
const BETWEEN_MS = 500
/** What arrives later than this counts as this. */
const TIMEOUT_MS = 30_000
const SECRET = 'a secret of the benchmark, longer than 32 characters'
const BOMB = `FREQ=YEARLY;BYWEEKNO=${Array.from({ length: 53 }, (_, week) => week + 1)};BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=999`

type Tenant = { organizationId: string; groupId: string; key: string }
type World = {
  db: Database
  keyring: Keyring
  attacker: Tenant
  other: Tenant
  dns: Awaited<ReturnType<typeof startDns>>
  call: (tenant: Tenant, path: string, body?: object) => Promise<{ status: number; body: Json }>
}
// biome-ignore lint/suspicious/noExplicitAny: responses of the API
type Json = any
/** Milliseconds of the other organization's work, `attack` in between. */
type Attack = (world: World) => Promise<{ load: string; alone: number[]; attacked: number[] }>

async function alerts({ db, attacker, other, call }: World) {
  const silent = await startReceiver()
  silent.hang()
  const receiver = await startReceiver()
  const channel = async (tenant: Tenant, endpoint: string) => {
    const { body } = await call(tenant, '/channels', { name: 'Receiver', type: 'http', settings: { endpoint } })
    const { body: rule } = await call(tenant, '/alert-rules', { name: 'Rule', channels: [body.id], delay: 0 })
    const monitor = await createMonitor(call, tenant, 'www.answers.test')
    return { tenant, channelId: body.id as string, ruleId: rule.id as string, monitorId: monitor.id as string }
  }
  const [hostile, normal] = [
    await channel(attacker, `${silent.url}/alerts`),
    await channel(other, `${receiver.url}/alerts`),
  ]
  const insert = async ({ tenant, channelId, ruleId, monitorId }: typeof normal, count: number, dueAt: number) => {
    const name = 'www.answers.test'
    const information = JSON.stringify({ what: 'record_found', monitorId, name, recordType: 'A', expected: [] })
    const { organizationId } = tenant
    const rows = Array.from({ length: count }, () => ({
      ...newPendingAlert({ organizationId, channelId, dueAt }, systemClock.now()),
      ...{ kind: 'recovered' as const, rule_id: ruleId, information },
    }))
    await inTransaction(db, async (transaction) => {
      await transaction.insertInto('alerts').values(rows).execute()
      await insertDue(transaction, organizationId, rows, systemClock.now())
    })
  }
  const measure = () => measureArrivals(receiver, (dueAt) => insert(normal, 1, dueAt))
  const alone = await measure()
  for (let count = 0; count < 720; count += 60) await insert(hostile, 60, systemClock.now())
  await systemClock.sleep(5_000)
  const attacked = await measure()
  await Promise.all([silent.close(), receiver.close()])
  return { load: '720 alerts to a silent port', alone, attacked }
}

async function webhooks({ db, keyring, attacker, other }: World) {
  const silent = await startReceiver()
  silent.hang()
  const receiver = await startReceiver()
  const insert = async (tenant: Tenant, url: string) => {
    const context = systemContext(tenant.organizationId, systemClock.now())
    await insertWebhook(db, keyring, context, { url, groups: [tenant.groupId] })
  }
  const request = (tenant: Tenant, dueAt: number) =>
    inTransaction(db, (transaction) => insertRequests(transaction, [newEvent(tenant)], dueAt))
  await insert(other, `${receiver.url}/hook`)
  const measure = () => measureArrivals(receiver, (dueAt) => request(other, dueAt))
  const alone = await measure()
  for (let number = 0; number < 100; number++) await insert(attacker, `${silent.url}/${number}`)
  for (let event = 0; event < 23; event++) await request(attacker, systemClock.now())
  await systemClock.sleep(8_000)
  const attacked = await measure()
  const load = `2,300 requests of 100 webhooks to one silent host (${silent.connections()} connections)`
  await Promise.all([silent.close(), receiver.close()])
  return { load, alone, attacked }
}

async function checks(world: World) {
  const names = Array.from({ length: 8_000 }, (_, number) => `n${number}.${world.dns.silentZones[number % 8]}`)
  return { load: '8,000 first checks at silent name servers', ...(await measureFirstChecks(world, names)) }
}

async function answers(world: World) {
  const names = Array.from({ length: 600 }, (_, number) => `n${number}.large.test`)
  const times = await measureFirstChecks(world, names)
  const sent = world.dns.large.reduce((sum, { queries }) => sum + queries.tcp, 0)
  return { load: `600 first checks whose answers have 60 kB, each another one (${sent} answers)`, ...times }
}

/** First checks of the other organization alone, and after the first one created monitors of the names. */
async function measureFirstChecks({ attacker, other, call }: World, names: readonly string[]) {
  const measure = async (label: string) => {
    const all: Promise<number>[] = []
    for (let sample = 0; sample < SAMPLES; sample++) {
      all.push(firstCheck(call, other, `${label}${sample}.answers.test`))
      await systemClock.sleep(2 * BETWEEN_MS)
    }
    return await Promise.all(all)
  }
  const alone = await measure('alone')
  for (let from = 0; from < names.length; from += 1_000) {
    const monitors = names.slice(from, from + 1_000).map((name) => monitorOf(name))
    await call(attacker, '/monitors/bulk', { monitors })
  }
  await systemClock.sleep(3_000)
  return { alone, attacked: await measure('attacked') }
}

async function recurrence({ attacker, other, call }: World) {
  await createMonitor(call, other, 'www.answers.test')
  const measure = async () => {
    const times: number[] = []
    for (let sample = 0; sample < 3 * SAMPLES; sample++) {
      const startedAt = systemClock.elapsed()
      await call(other, '/monitors')
      times.push(systemClock.elapsed() - startedAt)
      await systemClock.sleep(100)
    }
    return times
  }
  const alone = await measure()
  const [from, to] = [24, 25].map((hours) => new Date(systemClock.now() + hours * 3_600_000).toISOString())
  const window = { name: 'Bomb', from, to, rrule: BOMB }
  let isOver = false
  const statuses = new Map<number, number>()
  const flood = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const { status } = await call(attacker, '/maintenance-windows', window)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  })
  const attacked = await measure()
  isOver = true
  await Promise.all(flood)
  const answers = [...statuses].map(([status, count]) => `${count} answered ${status}`).join(', ')
  return { load: `recurrence rules that expand without end, 4 at a time (${answers})`, alone, attacked }
}

/** Writes one thing after the other that is due soon, and returns how long after that it arrived. */
async function measureArrivals(
  receiver: Awaited<ReturnType<typeof startReceiver>>,
  write: (dueAt: number) => Promise<unknown>,
): Promise<number[]> {
  receiver.reset()
  const due: number[] = []
  for (let sample = 0; sample < SAMPLES; sample++) {
    due.push(systemClock.now() + AHEAD_MS)
    await write(due.at(-1)!)
    await systemClock.sleep(BETWEEN_MS)
  }
  await receiver.waitFor(SAMPLES, TIMEOUT_MS).catch(() => {})
  const arrived = receiver.received.map(({ at }) => at).sort((one, other) => one - other)
  return due.map((dueAt, index) => Math.min(TIMEOUT_MS, Math.max(0, (arrived[index] ?? Number.MAX_VALUE) - dueAt)))
}

async function firstCheck(call: World['call'], tenant: Tenant, name: string): Promise<number> {
  const startedAt = systemClock.elapsed()
  const { id } = await createMonitor(call, tenant, name)
  while (systemClock.elapsed() - startedAt < TIMEOUT_MS) {
    if ((await call(tenant, `/monitors/${id}`)).body.state !== 'UNSET') return systemClock.elapsed() - startedAt
    await systemClock.sleep(20)
  }
  return TIMEOUT_MS
}

const monitorOf = (name: string) => ({ full_domain: name, record_type: 'A', expected_value: '192.0.2.1' })

async function createMonitor(call: World['call'], tenant: Tenant, name: string): Promise<Json> {
  return (await call(tenant, '/monitors', monitorOf(name))).body
}

let events = 0

function newEvent({ organizationId, groupId }: Tenant): ReportedEvent {
  const domain = {
    ...{ domain: 'example.com', subdomain: 'www', record_type: 'A' as const },
    ...{ expected_value: ['192.0.2.1'], is_exact_match: true },
  }
  const event = {
    ...{ id: `evt_${String(++events).padStart(26, '0')}`, monitor_id: 'mon_01jd0pxw2b4d6f8h0k2n4q6s8u' },
    ...{ occurred: new Date(systemClock.now()).toISOString(), incidence_count: 1, domain },
    ...{ old_state: 'VALID' as const, new_state: 'MISMATCH' as const },
    ...{ previous_value: ['192.0.2.1'], current_value: ['192.0.2.99'] },
  }
  return { organizationId, groupId, event }
}

const RECORDS = 3_700
const ADDRESSES = Array.from({ length: 20 }, (_, number) =>
  Array.from({ length: RECORDS }, (_, record) => [
    0xc0,
    12,
    0,
    1,
    0,
    1,
    0,
    0,
    1,
    0,
    0,
    4,
    198,
    18 + number,
    record >> 8,
    record & 255,
  ]),
).map((records) => Buffer.from(records.flat()))

/** Answers with addresses over TCP, others each time. */
function largeAnswer(query: Buffer, transport: 'udp' | 'tcp'): Buffer {
  const question = query.subarray(12, query.indexOf(0, 12) + 5)
  const header = Buffer.alloc(12)
  query.copy(header, 0, 0, 2)
  header.writeUInt16BE(transport === 'udp' ? 0x8600 : 0x8400, 2)
  header.writeUInt16BE(1, 4)
  if (transport === 'udp') return Buffer.concat([header, question])
  header.writeUInt16BE(RECORDS, 6)
  return Buffer.concat([header, question, ADDRESSES[Math.floor(Math.random() * ADDRESSES.length)]!])
}

/** A root, `test`, a zone that answers, one with large answers, and eight whose name servers are silent, as are their names at the resolver. */
async function startDns() {
  const tree = await startDnsTree()
  const [tld] = await tree.zone('test', ['a.nic.test'])
  const answering = await tree.zone('answers.test', ['ns1.answers.test', 'ns2.answers.test'], [tld!])
  const resolver = await tree.server()
  for (const server of [...answering, resolver]) server.set('*.answers.test', 'A', ['192.0.2.1'])
  const large = await tree.zone('large.test', ['ns1.large.test', 'ns2.large.test'], [tld!])
  for (let number = 0; number < 600; number++)
    for (const server of [...large, resolver]) server.respond(`n${number}.large.test`, largeAnswer)
  const silentZones = Array.from({ length: 8 }, (_, number) => `silent${number}.test`)
  for (const zone of silentZones)
    for (const server of await tree.zone(zone, [`ns1.${zone}`, `ns2.${zone}`], [tld!])) server.drop('*')
  return { tree, resolver, silentZones, large: [...large, resolver] }
}

async function withWorld<T>(work: (world: World) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-bench-'))
  const dns = await startDns()
  const address = ({ ip, port }: { ip: string; port: number }) => `${ip}:${port}`
  const server = await startServer({
    ...{ DATA_DIR: folder, SECRET, WORKERS: '1', READ_LIMIT: '0', WRITE_LIMIT: '0', CREATE_LIMIT: '0' },
    ...{ DNS_SERVERS: address(dns.resolver.address), DNS_ROOTS: address(dns.tree.root.address), DNS_CANARIES: 'off' },
    ...{ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', ALERTS_PER_HOUR: '0' },
  })
  const db = openDatabase(`sqlite:${join(folder, 'zonewatch.db')}`)
  const insert = async (name: string): Promise<Tenant> => {
    const email = `${name.toLowerCase()}@example.com`
    const { id, key } = await insertOrganization(db, { name, email, passwordHash: '' }, systemClock.now())
    const groups = db.selectFrom('groups').select('id').where('organization_id', '=', id)
    return { organizationId: id, groupId: (await groups.executeTakeFirstOrThrow()).id, key }
  }
  const call: World['call'] = async ({ key }, path, body) => {
    const headers = { 'x-api-key': key, ...(body ? { 'content-type': 'application/json' } : {}) }
    const sent = body ? { method: 'POST', body: JSON.stringify(body) } : {}
    const response = await fetch(server.url + path, { headers, ...sent })
    return { status: response.status, body: await response.json() }
  }
  try {
    const tenants = { attacker: await insert('Attacker'), other: await insert('Other') }
    return await work({ db, keyring: createKeyring(SECRET), ...tenants, dns, call })
  } finally {
    await db.destroy()
    await server.kill()
    await dns.tree.close()
    await rm(folder, { recursive: true, force: true })
  }
}

const median = (times: readonly number[]) => Math.round(times.toSorted((a, b) => a - b)[times.length >> 1]!)
const slowest = (times: readonly number[]) => Math.round(Math.max(...times))

async function main() {
  const all: Record<(typeof ATTACKS)[number], Attack> = { alerts, webhooks, checks, answers, recurrence }
  const rows: object[] = []
  for (const name of options.attacks.split(',') as (typeof ATTACKS)[number][]) {
    const { load, alone, attacked } = await withWorld(all[name])
    const times = {
      ...{ alone_p50_ms: median(alone), alone_max_ms: slowest(alone) },
      ...{ attacked_p50_ms: median(attacked), attacked_max_ms: slowest(attacked) },
      times_slower: Math.round((10 * median(attacked)) / Math.max(1, median(alone))) / 10,
    }
    rows.push({ attack: name, ...times })
    console.log(options.json ? JSON.stringify({ bench: 'fairness', ...rows.at(-1), load }) : `${name}: ${load}`)
  }
  if (!options.json) console.table(rows)
}

await main()
