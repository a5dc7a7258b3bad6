import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { systemContext } from '../context.ts'
import { inTransaction } from '../database/database.ts'
import type { Tables } from '../database/schema.ts'
import { onBothEngines } from '../testing/database.ts'
import { insertCanceledJob } from '../testing/jobs.ts'
import { type Call, givenApp, type TestApp } from '../testing/test-app.ts'
import { insertRequests } from '../webhooks/new-requests.ts'
import { replayBatch, startReplay } from '../webhooks/replay.ts'
import { pruneIdempotentRequests, storeRequest } from './idempotency-store.ts'

const HOUR_MS = 60 * 60_000
const MONITOR = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
const FUTURE = { from: '2030-01-01T02:00:00Z', to: '2030-01-01T04:00:00Z' }
/** Tables that a POST of the API can change. */
const CHANGED = [
  ...['monitors', 'due_checks', 'groups', 'webhooks', 'group_webhooks', 'webhook_requests', 'due_requests'],
  ...['due_webhooks', 'invitations', 'mails', 'due_mails', 'channels', 'alert_rules', 'alert_rule_channels'],
  ...[
    'alerts',
    'incidents',
    'alert_attempts',
    'due_alerts',
    'jobs',
    'job_batches',
    'due_jobs',
    'setup_pages',
    'waits',
    'due_waits',
  ],
  ...['maintenance_windows', 'planned_changes', 'views', 'api_keys', 'zones', 'due_zones'],
] as (keyof Tables)[]

const post = ({ call }: TestApp, path: string, name: string, body?: unknown, more: Call = {}) =>
  call(path, { method: 'POST', ...(body === undefined ? {} : { body }), ...more, headers: { 'idempotency-key': name } })

async function contents({ deps: { db } }: TestApp): Promise<string> {
  const tables = await Promise.all(CHANGED.map((table) => db.selectFrom(table).selectAll().execute()))
  return JSON.stringify(tables.map((rows) => rows.map((row) => JSON.stringify(row)).sort()))
}

/** Responses cannot be stored in the meantime. */
async function withoutStoring<T>({ deps: { db } }: TestApp, work: () => Promise<T>): Promise<T> {
  await db.schema.alterTable('idempotency_usage').renameTo('gone').execute()
  const result = await work()
  await db.schema.alterTable('gone').renameTo('idempotency_usage').execute()
  return result
}

/** A valid request for each POST, by its path in OpenAPI. */
async function postsOf(world: TestApp) {
  const make = async (path: string, body: unknown) => (await world.call(path, { method: 'POST', body })).body
  const monitor = (await make('/monitors', MONITOR)).id
  const disabled = (await make('/monitors', { ...MONITOR, is_active: false })).id
  const webhook = (await make('/webhooks', { url: 'http://127.0.0.1:9999/', groups: ['default'] })).id
  const other = (await make('/webhooks', { url: 'http://127.0.0.1:9999/' })).id
  await world.call(`/webhooks/${other}/disable`, { method: 'POST' })
  const request = (await make(`/webhooks/${webhook}/test`, undefined)).id
  await givenRequests(world, 3)
  const invitation = (await make('/agents/invitations', { email: 'first@example.com', role: 'viewer' })).id
  const endpoint = { name: 'Phone', type: 'http', settings: { endpoint: 'http://127.0.0.1:9999/' } }
  const channel = (await make('/channels', endpoint)).id
  const alert = (await make(`/channels/${channel}/test`, undefined)).id
  const failed = (await make(`/channels/${channel}/test`, undefined)).id
  const key = (await make('/api-keys', { name: 'Deploy', role: 'write' })).id
  // Only an alert of the queue can be retried.
  await world.deps.db
    .updateTable('alerts')
    .set({ kind: 'summary' as never })
    .where('id', '=', alert)
    .execute()
  await world.deps.db
    .updateTable('alerts')
    .set({ kind: 'failing' as never, status: 'FAILED' })
    .where('id', '=', failed)
    .execute()
  const { id: organization_id } = await world.organization()
  const incident = { organization_id, id: 'inc_1', cause: 'c', zone: 'example.com', state: 'TIMEOUT', opened_at: 0 }
  await world.deps.db
    .insertInto('incidents')
    .values({ ...incident, monitors: 1, failing: 1 })
    .execute()
  const zone = (await make('/zones', { name: 'example.com' })).id
  await world.deps.db.updateTable('due_zones').set({ due_at: 0 }).execute()
  const job = (await make('/jobs', { action: 'check', all: true })).id
  const ended = await insertCanceledJob(world, (await world.organization()).id, 'example.com')
  const page = (await make('/monitors', { ...MONITOR, until: 'valid' })).wait.setup_page.id
  const since = new Date(world.deps.clock.now() - HOUR_MS).toISOString()
  return {
    '/monitors': ['/monitors', { ...MONITOR, group: 'shop', until: 'valid' }],
    '/monitors/bulk': ['/monitors/bulk', { monitors: [MONITOR, MONITOR] }],
    '/monitors/{monitor}/enable': [`/monitors/${disabled}/enable`],
    '/monitors/{monitor}/disable': [`/monitors/${monitor}/disable`],
    '/monitors/{monitor}/check': [`/monitors/${disabled}/check`],
    '/jobs': ['/jobs', { action: 'delete', monitors: [monitor] }],
    '/jobs/{job}/cancel': [`/jobs/${job}/cancel`],
    '/jobs/{job}/undo': [`/jobs/${ended}/undo`],
    '/groups': ['/groups', { name: 'Other' }],
    '/webhooks': ['/webhooks', { url: 'http://127.0.0.1:9999/new', groups: ['default'] }],
    '/webhooks/{webhook}/enable': [`/webhooks/${other}/enable`],
    '/webhooks/{webhook}/disable': [`/webhooks/${webhook}/disable`],
    '/webhooks/{webhook}/groups/{group}': [`/webhooks/${other}/groups/default`],
    '/webhooks/{webhook}/rotate-secret': [`/webhooks/${webhook}/rotate-secret`],
    '/webhooks/{webhook}/test': [`/webhooks/${webhook}/test`],
    '/webhooks/{webhook}/requests/{request}/retry': [`/webhooks/${webhook}/requests/${request}/retry`],
    '/webhooks/{webhook}/replay': [`/webhooks/${webhook}/replay`, { since }],
    '/agents/invitations': ['/agents/invitations', { email: 'second@example.com', role: 'viewer' }],
    '/agents/invitations/{invitation}/resend': [`/agents/invitations/${invitation}/resend`],
    '/channels': ['/channels', endpoint],
    '/channels/{channel}/test': [`/channels/${channel}/test`],
    '/channels/{channel}/replay': [`/channels/${channel}/replay`, { since }],
    '/alert-rules': ['/alert-rules', { name: 'Shop', channels: [channel] }],
    '/maintenance-windows': ['/maintenance-windows', { name: 'Updates', ...FUTURE }],
    '/planned-changes': ['/planned-changes', { monitor_id: monitor, new_value: '192.0.2.9', ...FUTURE }],
    '/views': ['/views', { name: 'Failing', filter: { state: 'MISMATCH' } }],
    '/zones': ['/zones', { name: 'example.net' }],
    '/zones/bulk': ['/zones/bulk', { names: ['example.org', 'example.com'] }],
    '/zones/{zone}/check': [`/zones/${zone}/check`],
    '/incidents/acknowledge': ['/incidents/acknowledge', { incidents: ['inc_1'] }],
    '/alerts/{alert}/retry': [`/alerts/${alert}/retry`],
    '/setup-pages/{setup_page}/renew': [`/setup-pages/${page}/renew`],
    '/api-keys': ['/api-keys', { name: 'Deploy', role: 'write' }],
    '/api-keys/{key}/rotate': [`/api-keys/${key}/rotate`],
  } satisfies Record<string, [path: string, body?: unknown]>
}

/** Routes that change nothing. */
const WRITES_NOTHING = ['/organization/subscription/portal', '/alert-rules/preview']

/** Webhook requests as checks create them. */
async function givenRequests(world: TestApp, count: number): Promise<void> {
  const { db, clock } = world.deps
  const monitor = await db.selectFrom('monitors').selectAll().executeTakeFirstOrThrow()
  const event = (number: number) => ({
    id: `evt_${String(number).padStart(26, '0')}`,
    monitor_id: monitor.id,
    occurred: new Date(clock.now()).toISOString(),
    old_state: 'VALID' as const,
    new_state: 'MISMATCH' as const,
    incidence_count: 1,
    domain: {
      domain: 'example.com',
      subdomain: '',
      record_type: 'A' as const,
      expected_value: [],
      is_exact_match: true,
    },
  })
  const created = Array.from({ length: count }, (_, number) => ({
    organizationId: monitor.organization_id,
    groupId: monitor.group_id,
    event: event(number),
  }))
  await inTransaction(db, (transaction) => insertRequests(transaction, created, clock.now()))
}

onBothEngines('requests with an Idempotency-Key', (_fresh, engine) => {
  test('every POST writes its changes and its response in one transaction', async () => {
    const world = await givenApp(engine)
    const posts: Record<string, [path: string, body?: unknown]> = await postsOf(world)
    const { paths } = (await world.call('/openapi.json', { key: null })).body
    const described = Object.keys(paths).filter((path) => paths[path].post && !WRITES_NOTHING.includes(path))
    expect(Object.keys(posts).sort()).toEqual(described.sort())
    for (const [name, [path, body]] of Object.entries(posts)) {
      const before = await contents(world)
      const failed = await withoutStoring(world, () => post(world, path, name, body))
      expect([name, failed.status, await contents(world)]).toEqual([name, 500, before])

      const first = await post(world, path, name, body)
      expect([name, Math.floor(first.status / 100), first.headers['idempotent-replayed']]).toEqual([name, 2, undefined])
      const after = await contents(world)
      expect([name, after === before]).toEqual([name, false])
      const again = await post(world, path, name, body)
      expect([name, again.status, again.text]).toEqual([name, first.status, first.text])
      expect([name, again.headers['idempotent-replayed'], await contents(world)]).toEqual([name, 'true', after])
    }
  })

  test('a response with 1,000 monitors is not stored, and is built again from the ids', async () => {
    const world = await givenApp(engine)
    const monitors = Array.from({ length: 1_000 }, (_, place) => ({
      ...MONITOR,
      full_domain: `n${999 - place}.example`,
    }))
    const first = await post(world, '/monitors/bulk?include=frequency', 'many', { monitors, group: 'shop' })
    expect([first.status, first.text.length > 256 * 1_024]).toEqual([201, true])
    const row = await world.deps.db.selectFrom('idempotent_requests').selectAll().executeTakeFirstOrThrow()
    expect([row.body, row.result!.length < 64 * 1_024]).toEqual([null, true])

    const again = await post(world, '/monitors/bulk?include=frequency', 'many', { monitors, group: 'shop' })
    expect([again.status, again.headers['idempotent-replayed'], again.body]).toEqual([201, 'true', first.body])
    await world.call(`/monitors/${first.body[7].id}`, { method: 'DELETE' })
    const later = await post(world, '/monitors/bulk?include=frequency', 'many', { monitors, group: 'shop' })
    expect(later.body).toEqual(first.body.toSpliced(7, 1))
    expect((await world.call('/groups/shop')).body.monitors).toBe(999)
  })

  test('an organization at its limit stores only ids, then its keys are refused until responses expire', async () => {
    const world = await givenApp(engine, { IDEMPOTENCY_BYTES: '6000' })
    const secrets: string[] = []
    let status = 0
    for (let number = 0; number < 12 && status !== 429; number++) {
      const send = () => post(world, '/webhooks', `key-${number}`, { url: `http://127.0.0.1:9999/${number}` })
      const first = await send()
      status = first.status
      if (status === 429) {
        expect(first.headers['retry-after']).toBe('600')
        expect(first.body.error).toMatch(/6000 bytes.*IDEMPOTENCY_BYTES/)
        continue
      }
      const again = await send()
      expect([again.status, again.headers['idempotent-replayed'], again.body]).toEqual([201, 'true', first.body])
      secrets.push(first.body.secret)
    }
    expect(status).toBe(429)
    const rows = await world.deps.db.selectFrom('idempotent_requests').select(['body', 'result']).execute()
    expect(rows.some(({ body }) => body !== null) && rows.some(({ result }) => result !== null)).toBe(true)
    expect((await world.call('/webhooks')).body.data).toHaveLength(secrets.length)
    const elsewhere = (await world.organization('Second')).key
    expect((await post(world, '/groups', 'one', { name: 'Shop' }, { key: elsewhere })).status).toBe(201)

    world.pass(24 * HOUR_MS)
    await pruneIdempotentRequests(world.deps.db, world.deps.clock.now())
    const usage = await world.deps.db.selectFrom('idempotency_usage').select('octets').execute()
    expect(usage.map(({ octets }) => octets)).toEqual([0, 0])
    expect((await post(world, '/groups', 'one', { name: 'Shop' })).status).toBe(201)
  })

  test('an interrupted replay continues after its last step', async () => {
    const world = await givenApp(engine)
    const { db, keyring, clock, config } = world.deps
    const { id: organizationId } = await world.organization()
    await world.call('/monitors', { method: 'POST', body: MONITOR })
    const given = { url: 'http://127.0.0.1:9999/', groups: ['default'] }
    const webhook = (await world.call('/webhooks', { method: 'POST', body: given })).body.id
    await givenRequests(world, 450)
    const body = { since: new Date(clock.now() - HOUR_MS).toISOString() }
    const writer = await world.key('write')
    const content = `/webhooks/${webhook}/replay\n${hash('sha256', JSON.stringify(body))}`
    const fingerprint = hash('sha256', `${content}\nmember`)
    const name = { organizationId, owner: organizationId, name: hash('sha256', 'one'), fingerprint }
    // The state after a process was killed after the first step.
    const now = clock.now()
    const period = { since: now - HOUR_MS, until: now + 1 }
    const begun = await startReplay(db, systemContext(organizationId, now), webhook, period)
    await inTransaction(db, async (transaction) => {
      const { result } = await replayBatch(transaction, systemContext(organizationId, now), webhook, begun)
      await storeRequest(transaction, keyring, name, { result, maxBytes: config.idempotencyBytes }, now)
    })

    world.pass(1_000)
    for (const replayed of [undefined, 'true']) {
      const response = await post(world, `/webhooks/${webhook}/replay`, 'one', body, { key: writer.key })
      expect([response.status, response.body, response.headers['idempotent-replayed']]).toEqual([
        202,
        { count: 450 },
        replayed,
      ])
    }
    const rows = await db.selectFrom('webhook_requests').select('next_attempt_at').execute()
    expect(rows.filter(({ next_attempt_at }) => next_attempt_at === now)).toHaveLength(200)
    expect(rows).toHaveLength(450)
  })

  test('a POST that writes nothing stores no response', async () => {
    const world = await givenApp(engine)
    const plan = await post(world, '/dashboard/api/import', 'one', { zone: 'a.example.com. 60 A 192.0.2.1' })
    const portal = await post(world, '/organization/subscription/portal', 'two')
    expect([plan.status, portal.status]).toEqual([200, 409])
    expect(await world.deps.db.selectFrom('idempotent_requests').selectAll().execute()).toEqual([])
  })
})
