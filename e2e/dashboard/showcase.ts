import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Group } from '#contract/groups.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { openDatabase } from '#server/database/open.ts'
import { formatServer } from '#server/dns/server-address.ts'
import { type DnsServer, startDnsServer } from '#server/testing/dns-server.ts'
import { type Receiver, startReceiver } from '#server/testing/receiver.ts'
import { type ServerProcess, startServer } from '#server/testing/server-process.ts'
import { findSetupLink } from './setup-link.ts'
import { writeHistory } from './showcase-history.ts'
import { OTHER_RECORDS, SHOWCASE_MONITORS, type ShowcaseMonitor } from './showcase-monitors.ts'

/**
 * A real server with something to show, on loopback only, for looking at the dashboard: `node e2e/dashboard/showcase.ts
 * [--monitors 0|3|17|10000 …] [--port N]`, until Ctrl-C. The screenshots are taken of it.
 */
export type Showcase = {
  server: ServerProcess
  dns: DnsServer
  receiver: Receiver
  owner: { email: string; password: string }
  /** An API key that may do everything. */
  key: string
  /** By owner name and type, of the story. */
  monitors: Map<string, Monitor>
  call: Call
  close(): Promise<void>
}

type Call = <T>(method: string, path: string, body?: unknown) => Promise<T>

const WAIT_MS = 30_000
const BULK = 1_000

/** `monitors`: how many; the first ones are those of the story, then generated ones. */
export async function startShowcase({ monitors, port }: { monitors: number; port?: number }): Promise<Showcase> {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-showcase-'))
  const [dns, receiver] = await Promise.all([startDnsServer(), startReceiver()])
  const server = await startServer({
    DATA_DIR: folder,
    DNS_SERVERS: formatServer(dns.address),
    DNS_ROOTS: 'off',
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
    await Promise.all([dns.close(), receiver.close()])
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const key = await setUp(server)
    const call = caller(server.url, key)
    const story = SHOWCASE_MONITORS.slice(0, monitors)
    const made = monitors === 0 ? [] : await tellStory({ call, dns, receiver }, story)
    await makeMany({ call, dns }, monitors - story.length)
    if (made.length > 0) {
      await checked(call, made)
      const db = openDatabase(`sqlite:${join(folder, 'zonewatch.db')}`)
      await writeHistory(db, story, made)
      await db.destroy()
    }
    const named = made.map((monitor, at) => [`${story[at]!.name} ${monitor.record_type}`, monitor] as const)
    return { server, dns, receiver, owner: OWNER, key, monitors: new Map(named), call, close }
  } catch (error) {
    await close()
    throw error
  }
}

const OWNER = { email: 'ada@northwind.example', password: 'a long password' }

/** Claims the fresh server by the link in its log, and makes an API key, as its owner would in the dashboard. */
async function setUp(server: ServerProcess): Promise<string> {
  const token = (await findSetupLink(server)).split('/').at(-1)
  const headers = { 'content-type': 'application/json', origin: server.url }
  const person = { ...OWNER, token, organization: 'Northwind Digital', name: 'Ada Example' }
  const made = await fetch(`${server.url}/dashboard/api/setup`, {
    method: 'POST',
    headers,
    body: JSON.stringify(person),
  })
  if (!made.ok) throw new Error(`The set-up answered ${made.status} ${await made.text()}`)
  const cookie = made.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ')
  const body = JSON.stringify({ name: 'Deploy script', role: 'admin' })
  const answer = await fetch(`${server.url}/api-keys`, {
    method: 'POST',
    headers: { ...headers, cookie },
    body,
  })
  return ((await answer.json()) as { key: string }).key
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

/** Groups, webhooks (one well, one failing) and the story's monitors, in its order. */
async function tellStory(
  { call, dns, receiver }: Pick<Showcase, 'call' | 'dns' | 'receiver'>,
  story: readonly ShowcaseMonitor[],
) {
  for (const [name, type, values] of OTHER_RECORDS) dns.set(name, type, values)
  for (const { name, answer, fault } of story) {
    if (answer) dns.set(name, ...answer)
    if (fault === 'servfail') dns.fail(name, 'SERVFAIL', { code: 22, text: 'no reachable authority at quarry.example' })
    if (fault === 'silent') dns.drop(name)
  }
  receiver.answers(({ path }) =>
    path === '/broken' ? { status: 500, body: 'upstream is away' } : { status: 200, body: 'ok' },
  )
  const groups = new Map<string, string>()
  for (const name of new Set(story.flatMap(({ group }) => group ?? []))) {
    groups.set(name, (await call<Group>('POST', '/groups', { name })).slug)
  }
  const all = ['default', ...groups.values()]
  await call('POST', '/agents/invitations', { email: 'grace@northwind.example', role: 'member' })
  await call<Webhook>('POST', '/webhooks', {
    url: `${receiver.url}/dns-changes`,
    groups: all,
    headers: { 'X-Team': 'operations' },
  })
  if (story.length > 3)
    await call('POST', '/webhooks', { url: `${receiver.url}/broken`, groups: [...groups.values()].slice(0, 1) })
  const made: Monitor[] = []
  for (const { name, type, expected, group, isExact } of story) {
    const body = {
      full_domain: name,
      record_type: type,
      expected_value: expected,
      is_exact_match: isExact ?? true,
      group: group ? groups.get(group) : 'default',
    }
    made.push(await call<Monitor>('POST', '/monitors', body))
  }
  return made
}

/** Generated customers' domains, most of them as expected. */
async function makeMany({ call, dns }: Pick<Showcase, 'call' | 'dns'>, count: number): Promise<void> {
  for (let from = 0; from < count; from += BULK) {
    const monitors = Array.from({ length: Math.min(BULK, count - from) }, (_, at) => {
      const number = from + at
      const name = `www.customer-${String(number).padStart(5, '0')}.example`
      dns.set(name, 'A', [number % 37 === 5 ? '198.51.100.1' : '203.0.113.10'])
      return { full_domain: name, record_type: 'A', expected_value: ['203.0.113.10'], frequency: 60 }
    })
    await call('POST', '/monitors/bulk', { monitors, group: 'customers' })
  }
}

/** Waits until the story's monitors have their first state. */
async function checked(call: Call, made: readonly Monitor[]): Promise<void> {
  const until = Date.now() + WAIT_MS
  for (const { id } of made) {
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
