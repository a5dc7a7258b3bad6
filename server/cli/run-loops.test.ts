import { expect, test } from 'vitest'
import { formatServer } from '../dns/server-address.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenDnsServer } from '../testing/dns.ts'
import { givenMonitors } from '../testing/jobs.ts'
import { startReceiver } from '../testing/receiver.ts'
import { startMailServer } from '../testing/smtp.ts'
import { isAcrossOrganizations, tenantTablesOf } from '../testing/tenant-tables.ts'
import { givenApp } from '../testing/test-app.ts'
import { MINUTE_MS } from '../times.ts'
import { repairRequests } from '../webhooks/clock-step.ts'
import { deleteExpired, deleteRequestsOfDeletedWebhooks, enforceStorageLimits } from '../webhooks/retention.ts'
import { runLoops } from './run-loops.ts'

/**
 * A database that keeps the rows of each organization on one server has to know it. These statements of the loops do not name it: they find
 * what is due, or whose turn it is, among the rows of all, and are local by design. The list must not grow.
 */
const LOCAL: readonly { begin: string; reason: string }[] = [
  { begin: 'select min(due_at) as at from due_', reason: 'when the next row of a queue is due' },
  { begin: 'with due as ( select organization_id', reason: 'claims due rows' },
  { begin: 'with candidates as ( select organization_id, alert_id', reason: 'finds due alerts, fair by organization' },
  { begin: 'with late as ( select due_', reason: 'repairs a queue after a clock step' },
  { begin: 'select webhook_id as id, webhooks.organization_id, due_at', reason: 'repairs queues after a clock step' },
  { begin: 'select webhook_id as id, organization_id as organizationId', reason: 'finds webhooks with due requests' },
  { begin: 'select organization_id from fan_outs where organization_id >', reason: 'whose turn it is' },
  { begin: 'select organization_id from webhook_storage where octets >', reason: 'whose webhooks use too much' },
  { begin: 'select id, organization_id from webhooks where id >', reason: 'webhooks whose old requests are deleted' },
  {
    begin: 'select organization_id from webhook_requests where webhook_id =',
    reason: 'of webhooks deleted by the version before',
  },
]

const isKnown = (statement: string) => {
  const text = statement.replaceAll('"', '').replaceAll(/\s+/g, ' ').trim()
  return LOCAL.some(({ begin }) => text.startsWith(begin))
}

onBothEngines('the loops', (_fresh, engine) => {
  test('name the organization in each statement over rows of tenants, except in the known ones', async () => {
    const dns = await givenDnsServer()
    dns.set('*.example.com', 'A', ['192.0.2.1'])
    const [receiver, mail] = [await startReceiver(), await startMailServer()]
    const settings = { SMTP_URL: mail.url, MAIL_FROM: 'zonewatch@example.com' }
    const world = await givenApp(engine, { ...settings, DNS_SERVERS: formatServer(dns.address) })
    const { call, statements } = world
    const post = (path: string, body: object) => call(path, { method: 'POST', body })
    const inState = async (state: string) => (await call(`/monitors?state=${state}`)).body.data.length
    const tables = await tenantTablesOf(world.deps.db)
    const single = (await post('/webhooks', { url: `${receiver.url}/single`, groups: ['default'] })).body.id
    const batched = (await post('/webhooks', { url: `${receiver.url}/batched`, groups: ['default'], batch: {} })).body
      .id
    const arrived = (path: string) => receiver.received.filter((request) => request.path === path).length
    const stop = new AbortController()
    const signals = { stop: stop.signal, abandon: stop.signal }
    const loops = runLoops({ ...world.deps, process: 1 }, new Set(['checker', 'delivery']), signals)

    await givenMonitors(world, 3)
    await expect.poll(() => inState('VALID')).toBe(3)
    dns.set('*.example.com', 'A', ['192.0.2.9'])
    await post('/jobs', { action: 'check', all: true })
    await expect.poll(() => inState('MISMATCH')).toBe(3)
    await expect.poll(() => arrived('/single')).toBe(6)
    await expect.poll(() => arrived('/batched'), { timeout: 20_000 }).toBeGreaterThan(0)
    receiver.answers(410)
    const [request] = (await call(`/webhooks/${single}/requests?status=DELIVERED`)).body.data
    await post(`/webhooks/${single}/requests/${request.id}/retry`, {})
    await expect.poll(async () => (await call(`/webhooks/${single}`)).body.state).toBe('paused')
    await expect.poll(async () => (await call('/incidents')).body.data.length).toBeGreaterThan(0)
    world.pass(11 * MINUTE_MS)
    await expect.poll(() => mail.received.length, { timeout: 20_000 }).toBeGreaterThan(0)
    stop.abort()
    await Promise.all(loops)
    // These come after hours, or after a clock step.
    const running = new AbortController().signal
    const config = { ...world.deps.config, webhookKeep: { waitingRequests: 1, waitingDays: 1, storedBytes: 1 } }
    await repairRequests(world.deps.db, { now: world.deps.clock.now() - 10 * MINUTE_MS, process: 2 })
    for (const id of [single, batched]) await call(`/webhooks/${id}`, { method: 'DELETE' })
    await deleteRequestsOfDeletedWebhooks(world.deps, running)
    await post('/webhooks', { url: receiver.url, groups: ['default'] })
    await deleteExpired({ ...world.deps, config }, running)
    await enforceStorageLimits({ ...world.deps, config }, running)
    const across = [...statements].filter((statement) => isAcrossOrganizations(statement, tables))
    expect(across.filter((statement) => !isKnown(statement))).toEqual([])
  })
})
