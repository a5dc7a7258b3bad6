import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Group } from '#contract/groups.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { openDatabase } from '#server/database/open.ts'
import { formatServer } from '#server/dns/server-address.ts'
import { startDnsServer } from '#server/testing/dns-server.ts'
import { type Receiver, startReceiver } from '#server/testing/receiver.ts'
import { type ServerProcess, startServer } from '#server/testing/server-process.ts'
import { findSetupLink } from './setup-link.ts'
import { type ShowcaseDns, startShowcaseDns } from './showcase-dns.ts'
import { writeHistory } from './showcase-history.ts'
import { OTHER_RECORDS, SHOWCASE_MONITORS, type ShowcaseMonitor } from './showcase-monitors.ts'
import { writeZones } from './showcase-zones.ts'

/**
 * A real server with sample data on loopback, to look at the dashboard: `node e2e/dashboard/showcase.ts
 * [--monitors 0|3|17|10000 …] [--port N]`. Ctrl-C stops it. The screenshots show this server.
 */
export type Showcase = {
  server: ServerProcess
  dns: ShowcaseDns
  receiver: Receiver
  owner: { email: string; password: string }
  /** An API key with the role admin. */
  key: string
  /** The showcase monitors by owner name and type. */
  monitors: Map<string, Monitor>
  call: Call
  close(): Promise<void>
}

type Call = <T>(method: string, path: string, body?: unknown) => Promise<T>

const WAIT_MS = 30_000
const BULK_SIZE = 1_000

/** `monitors`: their number. The first ones are the showcase monitors, the others are generated. */
export async function startShowcase({ monitors, port }: { monitors: number; port?: number }): Promise<Showcase> {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-showcase-'))
  // Thousands of first checks would wait for the few name servers, which are asked as politely as those of others.
  const hasZones = monitors <= SHOWCASE_MONITORS.length
  const [world, receiver] = await Promise.all([hasZones ? startShowcaseDns() : startFlatDns(), startReceiver()])
  const { dns } = world
  const server = await startServer({
    DATA_DIR: folder,
    ...world.settings,
    DNS_CANARIES: 'off',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    READ_LIMIT: '0',
    WRITE_LIMIT: '0',
    CREATE_LIMIT: '0',
    ...(port === undefined ? {} : { PORT: String(port), BASE_URL: `http://127.0.0.1:${port}` }),
  })
  const close = async () => {
    server.send('SIGTERM')
    await server.ended
    await Promise.all([world.close(), receiver.close()])
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const key = await setUp(server)
    const call = caller(server.url, key)
    const showcaseMonitors = SHOWCASE_MONITORS.slice(0, monitors)
    const created = monitors === 0 ? [] : await createShowcaseMonitors({ call, dns, receiver }, showcaseMonitors)
    await createGeneratedMonitors({ call, dns }, monitors - showcaseMonitors.length)
    if (created.length > 0) {
      await waitUntilChecked(call, created)
      const db = openDatabase(`sqlite:${join(folder, 'zonewatch.db')}`)
      await writeHistory(db, showcaseMonitors, created)
      await writeZones(db)
      await db.destroy()
    }
    const named = created.map(
      (monitor, index) => [`${showcaseMonitors[index]!.name} ${monitor.record_type}`, monitor] as const,
    )
    return { server, dns, receiver, owner: OWNER, key, monitors: new Map(named), call, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** One resolver, without a DNS behind it. */
async function startFlatDns() {
  const dns = await startDnsServer()
  return {
    dns: dns as ShowcaseDns,
    settings: { DNS_SERVERS: formatServer(dns.address), DNS_ROOTS: 'off' },
    close: () => dns.close(),
  }
}

const OWNER = { email: 'ada@northwind.example', password: 'a long password' }

/** Sets up the server with the link in its log, and creates an API key, as its owner would in the dashboard. */
async function setUp(server: ServerProcess): Promise<string> {
  const token = (await findSetupLink(server)).split('/').at(-1)
  const headers = { 'content-type': 'application/json', origin: server.url }
  const owner = { ...OWNER, token, organization: 'Northwind Digital', name: 'Ada Example' }
  const response = await fetch(`${server.url}/dashboard/api/setup`, {
    method: 'POST',
    headers,
    body: JSON.stringify(owner),
  })
  if (!response.ok) throw new Error(`The set-up answered ${response.status} ${await response.text()}`)
  const cookie = response.headers
    .getSetCookie()
    .map((header) => header.split(';')[0])
    .join('; ')
  const body = JSON.stringify({ name: 'Deploy script', role: 'admin' })
  const keyResponse = await fetch(`${server.url}/api-keys`, {
    method: 'POST',
    headers: { ...headers, cookie },
    body,
  })
  return ((await keyResponse.json()) as { key: string }).key
}

function caller(url: string, key: string): Call {
  return async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`)
    return text === '' ? null : JSON.parse(text)
  }
}

/** Creates groups, a working and a failing webhook, and the showcase monitors in their order. */
async function createShowcaseMonitors(
  { call, dns, receiver }: Pick<Showcase, 'call' | 'dns' | 'receiver'>,
  showcaseMonitors: readonly ShowcaseMonitor[],
) {
  for (const [name, type, values] of OTHER_RECORDS) dns.set(name, type, values)
  for (const { name, answer, fault } of showcaseMonitors) {
    if (answer) dns.set(name, ...answer)
    if (fault === 'servfail') dns.fail(name, 'SERVFAIL', { code: 22, text: 'no reachable authority at quarry.example' })
    if (fault === 'silent') dns.drop(name)
  }
  receiver.answers(({ path }) =>
    path === '/broken' ? { status: 500, body: 'upstream is unavailable' } : { status: 200, body: 'ok' },
  )
  const groups = new Map<string, string>()
  for (const name of new Set(showcaseMonitors.flatMap(({ group }) => group ?? []))) {
    groups.set(name, (await call<Group>('POST', '/groups', { name })).slug)
  }
  const groupSlugs = ['default', ...groups.values()]
  await call('POST', '/agents/invitations', { email: 'grace@northwind.example', role: 'member' })
  await call<Webhook>('POST', '/webhooks', {
    url: `${receiver.url}/dns-changes`,
    groups: groupSlugs,
    headers: { 'X-Team': 'operations' },
  })
  if (showcaseMonitors.length > 3)
    await call('POST', '/webhooks', { url: `${receiver.url}/broken`, groups: [...groups.values()].slice(0, 1) })
  const created: Monitor[] = []
  for (const { name, type, expected, group, isExact } of showcaseMonitors) {
    const body = {
      full_domain: name,
      record_type: type,
      expected_value: expected,
      is_exact_match: isExact ?? true,
      group: group ? groups.get(group) : 'default',
    }
    created.push(await call<Monitor>('POST', '/monitors', body))
  }
  return created
}

/** Creates monitors of customer domains, most of them valid. */
async function createGeneratedMonitors({ call, dns }: Pick<Showcase, 'call' | 'dns'>, count: number): Promise<void> {
  for (let from = 0; from < count; from += BULK_SIZE) {
    const monitors = Array.from({ length: Math.min(BULK_SIZE, count - from) }, (_, index) => {
      const number = from + index
      const name = `www.customer-${String(number).padStart(5, '0')}.example`
      dns.set(name, 'A', [number % 37 === 5 ? '198.51.100.1' : '203.0.113.10'])
      return { full_domain: name, record_type: 'A', expected_value: ['203.0.113.10'], frequency: 60 }
    })
    await call('POST', '/monitors/bulk', { monitors, group: 'customers' })
  }
}

/** Waits until the monitors have their first state. */
async function waitUntilChecked(call: Call, created: readonly Monitor[]): Promise<void> {
  const until = Date.now() + WAIT_MS
  for (const { id } of created) {
    while ((await call<Monitor>('GET', `/monitors/${id}`)).state === 'UNSET' && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { monitors: { type: 'string', default: '17' }, port: { type: 'string' } } })
  const showcase = await startShowcase({
    monitors: Number(values.monitors),
    ...(values.port ? { port: Number(values.port) } : {}),
  })
  const { server, owner, key } = showcase
  process.stdout.write(`${server.url}/dashboard  ${owner.email}  ${owner.password}  (API key ${key}; Ctrl-C ends it)\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => void showcase.close().then(() => process.exit()))
}
