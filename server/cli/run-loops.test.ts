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
import { runLoops } from './run-loops.ts'

/**
 * A transaction belongs to one organization, so that a database can keep the rows of each on one server. These statements of the loops do
 * not name it: they are local by design, because a process does that for the rows of one server, or are still to be changed. The list
 * must not grow.
 */
const EXCEPTIONS: readonly { begin: string; reason: string }[] = [
  {
    begin: 'select webhook_id as id, due_at, exists ( select 1 from due_requests',
    reason: 'local: repairs the queues after a clock step',
  },
  {
    begin: 'select organization_id from webhook_storage where octets >',
    reason: 'local: finds the organizations whose webhooks use too much',
  },
  {
    begin: 'select id, organization_id from webhooks where id >',
    reason: 'local: finds the webhooks whose old requests are deleted',
  },
  { begin: 'select min(due_at) as at from due_', reason: 'local: when the next row of a queue is due' },
  {
    begin: 'select webhook_id from due_webhooks inner join webhooks',
    reason: 'local: finds webhooks with due requests',
  },
  {
    begin: 'select id from webhook_requests where webhook_id =',
    reason: 'to be changed: deletes old requests of a webhook',
  },
  { begin: 'select * from monitors where id in', reason: 'to be changed: reads the monitors of checks' },
  {
    begin: 'select id, organization_id, group_id, notify, version from monitors where id in',
    reason: 'to be changed: locks monitors that change',
  },
  {
    begin: 'select group_id, webhook_id as id, payload_includes',
    reason: 'to be changed: finds the webhooks of groups',
  },
  {
    begin: 'select due_webhooks.webhook_id, organization_id, is_active',
    reason: 'to be changed: locks webhooks to claim their requests',
  },
  {
    begin: 'select id, target_version, is_active, state, url',
    reason: 'to be changed: reads the webhooks of requests',
  },
  {
    begin: 'select id, organization_id, event_id, event_offset, body',
    reason: 'to be changed: reads claimed requests',
  },
  {
    begin: 'select id, target_version from webhooks where id',
    reason: 'to be changed: whether a webhook has changed meanwhile',
  },
  { begin: 'select id, state from webhooks where id', reason: 'to be changed: locks webhooks after attempts' },
  { begin: 'update webhook_requests set status', reason: 'to be changed: records attempts' },
  { begin: 'update webhooks set last_error', reason: 'to be changed: records the last attempt' },
  { begin: 'select * from channels where id', reason: 'to be changed: reads the channels of alerts' },
]

const isKnown = (statement: string) => {
  const text = statement.replaceAll('"', '').replaceAll(/\s+/g, ' ').trim()
  return EXCEPTIONS.some(({ begin }) => text.startsWith(begin))
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
    await post('/webhooks', { url: receiver.url, groups: ['default'] })
    const stop = new AbortController()
    const signals = { stop: stop.signal, abandon: stop.signal }
    const loops = runLoops({ ...world.deps, process: 1 }, new Set(['checker', 'delivery']), signals)

    await givenMonitors(world, 3)
    await expect.poll(() => inState('VALID')).toBe(3)
    dns.set('*.example.com', 'A', ['192.0.2.9'])
    await post('/jobs', { action: 'check', all: true })
    await expect.poll(() => inState('MISMATCH')).toBe(3)
    await expect.poll(() => receiver.received.length).toBe(6)
    await expect.poll(async () => (await call('/incidents')).body.data.length).toBeGreaterThan(0)
    world.pass(11 * MINUTE_MS)
    await expect.poll(() => mail.received.length, { timeout: 20_000 }).toBeGreaterThan(0)
    stop.abort()
    await Promise.all(loops)
    const across = [...statements].filter((statement) => isAcrossOrganizations(statement, tables))
    expect(across.filter((statement) => !isKnown(statement))).toEqual([])
  })
})
