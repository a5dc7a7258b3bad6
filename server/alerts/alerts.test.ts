import { expect, test } from 'vitest'
import type { Engine } from '../database/engine.ts'
import { expose } from '../metrics/registry.ts'
import { claimDue } from '../queue/lease-queue.ts'
import { givenAlerting } from '../testing/alerts.ts'
import { onBothEngines } from '../testing/database.ts'
import { startReceiver } from '../testing/receiver.ts'
import type { Settings } from '../testing/server-process.ts'
import { startMailServer } from '../testing/smtp.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { beginAttempt } from './alert-attempts.ts'
import { deleteOldAlerts } from './retention.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

onBothEngines('alerts', (_fresh, engine) => {
  test('owners of a new organization receive an email after 10 minutes, and another one when the monitor recovers', async () => {
    const mail = await startMailServer()
    const world = await givenApp(engine, { SMTP_URL: mail.url, MAIL_FROM: 'zonewatch@example.com' })
    const { change, send } = givenAlerting(world)
    const shop = await monitorOf(world, 'shop.example.com')

    await change({ monitor: shop, to: 'MISMATCH', currentValues: ['192.0.2.9'] })
    world.pass(9 * MINUTE_MS)
    await send()
    expect(mail.received).toEqual([])
    world.pass(MINUTE_MS)
    await send()
    expect(mail.received.map(({ to }) => to)).toEqual([['owner@first.example']])
    const source = readable(mail.received[0]!.source)
    expect(source).toContain('Subject: [Failing] shop.example.com A: Mismatch')
    expect(source).toContain('Expected: 192.0.2.1')
    expect(source).toContain('Found: 192.0.2.9')
    expect(source).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click')

    await change({ monitor: shop, from: 'MISMATCH', to: 'VALID' })
    await send()
    expect(mail.received).toHaveLength(2)
    expect(readable(mail.received[1]!.source)).toContain('Subject: [Recovered] shop.example.com A: recovered')
    const { text } = await expose([{ families: world.deps.metrics.collect() }])
    expect(text).toContain('zonewatch_alerts_total{channel="email",result="sent"} 2')
  })

  test('an alert has the warnings of the verdict, a line each, and whose answers count', async () => {
    const mail = await startMailServer()
    const world = await givenApp(engine, { SMTP_URL: mail.url, MAIL_FROM: 'zonewatch@example.com' })
    const { change, send } = givenAlerting(world)
    const shop = await monitorOf(world, 'shop.example.com')
    await world.call(`/monitors/${shop}`, { method: 'PATCH', body: { resolution: 'public' } })
    const warnings = [
      { code: 'name_servers_silent', params: { name_servers: ['ns2.example.net'] } },
      { code: 'name_servers_lame', params: { name_servers: ['ns3.example.net'] } },
    ]
    await change({ monitor: shop, to: 'MISMATCH', currentValues: ['192.0.2.9'], warnings })
    world.pass(10 * MINUTE_MS)
    await send()
    const source = readable(mail.received[0]!.source)
    expect(source).toContain(
      'Warnings: ns2.example.net did not answer.\r\nns3.example.net does not serve the zone (lame delegation).',
    )
    expect(source).toContain('Answers that count: The public DNS')
  })

  test('a monitor that recovers within the delay sends no alert, and neither does a first result', async () => {
    const { world, receiver, rule } = await givenReceiver(engine, { delay: 10 })
    const { change, send } = givenAlerting(world)
    const [shop, blog] = [await monitorOf(world, 'shop.example.com'), await monitorOf(world, 'blog.example.com')]

    await change({ monitor: shop, to: 'TIMEOUT' }, { monitor: blog, from: 'UNSET', to: 'MISMATCH' })
    world.pass(5 * MINUTE_MS)
    await change({ monitor: shop, from: 'TIMEOUT', to: 'VALID' })
    world.pass(HOUR_MS)
    await send()

    expect(receiver.received).toEqual([])
    const { data } = (await world.call('/alerts')).body
    expect(data.filter(({ rule_id }: { rule_id: string }) => rule_id === rule)).toMatchObject([
      { status: 'CANCELED', error: 'the monitors recovered before it was sent', kind: 'failing' },
    ])
    const incidents = (await world.call('/incidents')).body.data
    expect(incidents).toMatchObject([{ zone: 'example.com', state: 'TIMEOUT', monitors: 1, failing: 0 }])
    expect((await world.call('/incidents?is_open=true')).body.data).toEqual([])
  })

  test('400 failing monitors of one zone make one incident and one message, and one message when all recover', async () => {
    const { world, receiver } = await givenReceiver(engine, { delay: 0 })
    const { change, send } = givenAlerting(world)
    const names = Array.from({ length: 400 }, (_, index) => ({
      full_domain: `n${index}.example.com`,
      record_type: 'A',
      expected_value: '192.0.2.1',
    }))
    const { ids } = (await world.call('/monitors/bulk', { method: 'POST', body: { monitors: names } })).body
    const monitors: string[] =
      ids ?? (await world.deps.db.selectFrom('monitors').select('id').execute()).map(({ id }) => id)

    await change(...monitors.map((monitor) => ({ monitor, to: 'NOT_FOUND' })))
    world.pass(MINUTE_MS)
    await send()
    expect(bodies(receiver)).toMatchObject([{ title: '400 monitors of example.com: Not found', kind: 'failing' }])

    await change(...monitors.slice(1).map((monitor) => ({ monitor, from: 'NOT_FOUND', to: 'VALID' })))
    await send()
    expect(receiver.received).toHaveLength(1)
    expect((await world.call('/incidents')).body.data).toMatchObject([{ monitors: 400, failing: 1, resolved: null }])
    await change({ monitor: monitors[0]!, from: 'NOT_FOUND', to: 'VALID' })
    await send()
    expect(bodies(receiver)[1]).toMatchObject({ title: '400 monitors of example.com: recovered', kind: 'recovered' })
    expect(bodies(receiver)[1]!.incident).toBe(bodies(receiver)[0]!.incident)
  })

  test('a rule matches only its groups, names, record types and states', async () => {
    const filters = { delay: 0, name_pattern: '*.example.com', record_types: ['A'], states: ['NOT_FOUND'] }
    const { world, receiver } = await givenReceiver(engine, filters)
    const { change, send } = givenAlerting(world)
    const inside = await monitorOf(world, 'shop.example.com')
    const others = [
      await monitorOf(world, 'shop.example.org'),
      await monitorOf(world, 'mail.example.com', 'AAAA', '2001:db8::1'),
    ]
    const timeout = await monitorOf(world, 'slow.example.com')

    await change({ monitor: timeout, to: 'TIMEOUT' }, ...others.map((monitor) => ({ monitor, to: 'NOT_FOUND' })))
    world.pass(MINUTE_MS)
    await send()
    expect(receiver.received).toEqual([])

    // The state that the rule is about comes second.
    await change({ monitor: timeout, from: 'TIMEOUT', to: 'NOT_FOUND' }, { monitor: inside, to: 'NOT_FOUND' })
    world.pass(MINUTE_MS)
    await send()
    const titles = bodies(receiver).map(({ title }) => title)
    expect(titles.sort()).toEqual(['2 monitors of example.com: Not found', 'slow.example.com A: Timeout'])
  })

  test('a rule with tags matches monitors that currently have all of them, also in its preview', async () => {
    const { world, receiver, rule } = await givenReceiver(engine, { delay: 0, tags: ['prod', 'eu'], repeat_every: 1 })
    const { change, send } = givenAlerting(world)
    const tagged = async (name: string, tags: string[]) => {
      const id = await monitorOf(world, name)
      await world.call(`/monitors/${id}`, { method: 'PATCH', body: { tags } })
      return id
    }
    const both = await tagged('a.example.com', ['eu', 'new', 'prod'])
    const [one, other] = [await tagged('b.example.org', ['prod']), await tagged('c.example.net', ['Prod', 'eu'])]
    await change(...[both, one, other].map((monitor) => ({ monitor, to: 'NOT_FOUND' })))
    world.pass(MINUTE_MS)
    await send()
    expect(bodies(receiver).map(({ title }) => title)).toEqual(['a.example.com A: Not found'])
    expect((await world.call(`/alert-rules/${rule}`)).body.tags).toEqual(['prod', 'eu'])
    const preview = async (tags: string[]) =>
      (await world.call('/alert-rules/preview', { method: 'POST', body: { tags, delay: 0 } })).body
    expect((await preview(['prod'])).data.map(({ name }: { name: string }) => name).sort()).toEqual([
      ...['a.example.com', 'b.example.org'],
    ])
    expect((await preview(['a b'])).errors).toHaveProperty(['tags.0'])
    const { data: rules } = (await world.call(`/monitors/${one}/alert-rules`)).body
    expect(rules.find(({ rule_id }: { rule_id: string }) => rule_id === rule)).toMatchObject({ reason: 'tag' })

    await world.call(`/monitors/${both}`, { method: 'PATCH', body: { tags: ['eu'] } })
    world.pass(HOUR_MS)
    await send()
    expect(receiver.received).toHaveLength(1)
  })

  test('an acknowledged incident sends no more alerts, and keeps its note', async () => {
    const { world, receiver } = await givenReceiver(engine, { delay: 10 })
    const { change, send } = givenAlerting(world)
    const shop = await monitorOf(world, 'shop.example.com')
    await change({ monitor: shop, to: 'MISMATCH' })
    const [incident] = (await world.call('/incidents')).body.data

    const path = `/incidents/${incident.id}`
    const { body } = await world.call(path, { method: 'PATCH', body: { acknowledged: true, note: 'On it.' } })
    expect(body).toMatchObject({ acknowledged_by: 'First key', note: 'On it.', acknowledged: expect.any(String) })
    world.pass(HOUR_MS)
    await send()
    expect(receiver.received).toEqual([])
  })

  test('a failed alert is retried nine times, after 5, 10, 15 minutes and so on, and its log has every attempt', async () => {
    const { world, receiver, rule } = await givenReceiver(engine, { delay: 0 })
    const { change, send } = givenAlerting(world)
    receiver.answers({ status: 503, body: 'busy' })
    await change({ monitor: await monitorOf(world, 'shop.example.com'), to: 'MISMATCH' })
    world.pass(MINUTE_MS)
    for (let attempt = 0; attempt < 12; attempt++) {
      await send()
      world.pass(25 * HOUR_MS)
    }

    expect(receiver.received).toHaveLength(10)
    expect(new Set(bodies(receiver).map(({ id }) => id)).size).toBe(1)
    const [alert] = await alertsOf(world, rule)
    expect(alert).toMatchObject({ status: 'FAILED', retries: 9, error: 'HTTP request responded with 503' })
    const { log } = (await world.call(`/alerts/${alert.id}`)).body
    expect(log).toHaveLength(10)
    expect(log[0]).toMatchObject({ number: 1, status_code: 503, response_body: 'busy' })

    receiver.answers(200)
    expect((await world.call(`/alerts/${alert.id}/retry`, { method: 'POST' })).status).toBe(202)
    await send()
    expect((await alertsOf(world, rule))[0]).toMatchObject({ status: 'SENT', error: null })
  })

  test('a 429 is retried after the time in Retry-After', async () => {
    const { world, receiver, rule } = await givenReceiver(engine, { delay: 0 })
    const { change, send } = givenAlerting(world)
    receiver.answers({ status: 429, headers: { 'retry-after': '3600' } })
    await change({ monitor: await monitorOf(world, 'shop.example.com'), to: 'MISMATCH' })
    world.pass(MINUTE_MS)
    await send()
    world.pass(HOUR_MS - MINUTE_MS)
    receiver.answers(200)
    await send()
    expect(receiver.received).toHaveLength(1)
    world.pass(2 * MINUTE_MS)
    await send()
    expect(await alertsOf(world, rule)).toMatchObject([{ status: 'SENT', retries: 1 }])
  })

  test('alerts over the hourly limit of a channel are combined in one summary', async () => {
    const { world, receiver, rule } = await givenReceiver(engine, { delay: 0 }, { ALERTS_PER_HOUR: '2' })
    const { change, send } = givenAlerting(world)
    const monitors = await Promise.all([1, 2, 3, 4, 5].map((number) => monitorOf(world, `www.example${number}.com`)))
    await change(...monitors.map((monitor) => ({ monitor, to: 'MISMATCH' })))
    world.pass(MINUTE_MS)
    await send()
    expect(receiver.received).toHaveLength(2)
    expect((await alertsOf(world, rule)).map(({ status }: { status: string }) => status).sort()).toEqual([
      ...['HELD', 'HELD', 'HELD', 'SENT', 'SENT'],
    ])

    world.pass(HOUR_MS)
    await send()
    expect(bodies(receiver)[2]).toMatchObject({ kind: 'summary', title: '3 more alerts' })
    expect(bodies(receiver)[2]!.facts[0].value).toContain('www.example5.com A: Mismatch')
    expect((await alertsOf(world, rule)).every(({ status }: { status: string }) => status === 'SENT')).toBe(true)
  })

  test('when a process dies while it sends an alert, another process sends it with the same id', async () => {
    const { world, receiver, rule } = await givenReceiver(engine, { delay: 0 })
    const { change, send } = givenAlerting(world)
    await change({ monitor: await monitorOf(world, 'shop.example.com'), to: 'MISMATCH' })
    world.pass(MINUTE_MS)
    const { db, clock, config } = world.deps
    const beginning = { ...config, hasMailServer: false, acknowledgeLink: () => '', now: clock.now() }
    const claims = await claimDue(db, 'due_alerts', { now: clock.now(), process: 99, limit: 16 })
    for (const claim of claims) await beginAttempt(db, claim, beginning) // and is killed here

    expect(await send()).toBe(0)
    world.pass(MINUTE_MS)
    await send()
    expect(receiver.received).toHaveLength(1)
    expect(await alertsOf(world, rule)).toMatchObject([{ status: 'SENT', retries: 1 }])
  })

  test('the incident of a monitor that was deleted or disabled is resolved', async () => {
    const { world, receiver } = await givenReceiver(engine, { delay: 0 })
    const { change, evaluate, send } = givenAlerting(world)
    const [shop, blog] = [await monitorOf(world, 'shop.example.com'), await monitorOf(world, 'blog.example.com')]
    await change({ monitor: shop, to: 'MISMATCH' }, { monitor: blog, to: 'MISMATCH' })
    world.pass(MINUTE_MS)
    await send()
    await world.call(`/monitors/${shop}`, { method: 'DELETE' })
    await world.call(`/monitors/${blog}/disable`, { method: 'POST' })

    await evaluate()
    await send()
    expect((await world.call('/incidents')).body.data).toMatchObject([{ failing: 0, resolved: expect.any(String) }])
    expect(bodies(receiver).slice(1)).toMatchObject([
      {
        ...{ kind: 'recovered', title: '2 monitors of example.com: closed' },
        text: 'The monitors were disabled, deleted or changed while they failed.',
      },
    ])
    const [{ id }] = (await world.call('/incidents')).body.data
    const { data: timeline } = (await world.call(`/incidents/${id}/timeline`)).body
    expect(timeline.find(({ kind }: { kind: string }) => kind === 'resolved')).toMatchObject({
      detail: 'Disabled, deleted or changed',
    })
  })

  test('retention deletes old incidents with their rows in batches, and keeps open ones', async () => {
    const { world, receiver } = await givenReceiver(engine, { delay: 0, repeat_every: 24 })
    const { change, send } = givenAlerting(world)
    const { db, clock, config } = world.deps
    const [shop, blog] = [await monitorOf(world, 'shop.example.com'), await monitorOf(world, 'blog.example.org')]
    await change({ monitor: shop, to: 'MISMATCH' }, { monitor: blog, to: 'MISMATCH' })
    world.pass(MINUTE_MS)
    await send()
    await change({ monitor: blog, from: 'MISMATCH', to: 'VALID' })
    await send()
    const incidents = await db.selectFrom('incidents').select(['id', 'organization_id', 'zone']).execute()
    const { id: incident_id, organization_id } = incidents.find(({ zone }) => zone === 'example.org')!
    const entries = Array.from({ length: 300 }, (_, index) => ({
      ...{ organization_id, incident_id, id: `ent_${index}`, occurred_at: 0, kind: 'noted' as const },
      ...{ actor: null, detail: null, alert_id: null, channel_id: null },
    }))
    await db.insertInto('incident_entries').values(entries).execute()

    world.pass(91 * 24 * HOUR_MS)
    await db.deleteFrom('events').execute() // their retention may be shorter
    await deleteOldAlerts({ db, config, clock: { ...clock, sleep: async () => {} } }, new AbortController().signal)
    const left = async (table: 'incident_monitors' | 'incident_events' | 'incident_entries') =>
      (await db.selectFrom(table).selectAll().where('incident_id', '=', incident_id).execute()).length
    expect([await left('incident_monitors'), await left('incident_events'), await left('incident_entries')]).toEqual([
      ...[0, 0, 0],
    ])
    expect((await world.call('/incidents')).body.data).toMatchObject([{ zone: 'example.com', resolved: null }])

    await send()
    await change({ monitor: shop, from: 'MISMATCH', to: 'VALID' })
    await send()
    const ofShop = bodies(receiver).filter(({ title }) => title.startsWith('shop.example.com'))
    expect(ofShop.map(({ title }) => title)).toEqual([
      ...['shop.example.com A: Mismatch', 'shop.example.com A: Mismatch', 'shop.example.com A: recovered'],
    ])
    expect(ofShop[1]!.facts[0]).toEqual({ name: 'Expected', value: '192.0.2.1' })
  })

  test('a preview shows the failures of 30 days that outlasted the delay of the rule', async () => {
    const world = await givenApp(engine)
    const { change } = givenAlerting(world)
    const [shop, blog] = [await monitorOf(world, 'shop.example.com'), await monitorOf(world, 'blog.example.org')]
    await change({ monitor: shop, to: 'MISMATCH' }, { monitor: blog, to: 'TIMEOUT' })
    world.pass(5 * MINUTE_MS)
    await change({ monitor: blog, from: 'TIMEOUT', to: 'VALID' })
    world.pass(10 * MINUTE_MS)
    const preview = async (body: unknown) => (await world.call('/alert-rules/preview', { method: 'POST', body })).body

    expect(await preview({})).toMatchObject({ days: 30, is_complete: true, data: [{ name: 'shop.example.com' }] })
    const names = (await preview({ delay: 0 })).data.map(({ name }: { name: string }) => name)
    expect(names).toEqual(['blog.example.org', 'shop.example.com'])
    expect((await preview({ delay: 0, name_pattern: '*.org' })).data).toMatchObject([{ state: 'TIMEOUT' }])

    const topLevel = { domain: '.', subdomain: 'com', record_type: 'NS', expected_value: 'ns1.example.com' }
    const { id } = (await world.call('/monitors', { method: 'POST', body: topLevel })).body
    await change({ monitor: id, to: 'MISMATCH' })
    expect((await preview({ delay: 0, name_pattern: 'com' })).data).toMatchObject([{ name: 'com' }])
    world.pass(31 * 24 * HOUR_MS)
    expect((await preview({ delay: 0 })).data).toEqual([])
  })
})

async function monitorOf(
  world: TestApp,
  full_domain: string,
  record_type = 'A',
  expected_value = '192.0.2.1',
): Promise<string> {
  const { body } = await world.call('/monitors', { method: 'POST', body: { full_domain, record_type, expected_value } })
  return body.id
}

/** A channel that sends JSON to a receiver, and a rule for it beside the default one. */
async function givenReceiver(engine: Engine, filters: object, settings: Settings = {}) {
  const world = await givenApp(engine, settings)
  const receiver = await startReceiver()
  const post = async (path: string, body: unknown) => (await world.call(path, { method: 'POST', body })).body
  const channel = await post('/channels', {
    name: 'Receiver',
    type: 'http',
    settings: { endpoint: `${receiver.url}/alerts` },
  })
  const rule = await post('/alert-rules', { name: 'Receiver', channels: [channel.id], ...filters })
  return { world, receiver, channel: channel.id as string, rule: rule.id as string }
}

type Sent = { id: string; kind: string; title: string; incident: string; facts: { name: string; value: string }[] }
// biome-ignore lint/suspicious/noExplicitAny: what a receiver got, compared by the test
const bodies = ({ received }: { received: { body: Buffer }[] }): (Sent & any)[] =>
  received.map(({ body }) => JSON.parse(body.toString()))

// biome-ignore lint/suspicious/noExplicitAny: the answer of the API, compared by the test
const alertsOf = async (world: TestApp, rule: string): Promise<any[]> =>
  (await world.call('/alerts?limit=100')).body.data.filter(({ rule_id }: { rule_id: string }) => rule_id === rule)

/** Quoted-printable, undone as far as these mails need it. */
const readable = (source: string): string => source.replace(/=\r\n/g, '').replace(/=3D/g, '=')
