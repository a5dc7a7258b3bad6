import { expect, test } from 'vitest'
import type { Engine } from '../database/database.ts'
import { claimDue } from '../database/lease-queue.ts'
import { givenAlerting } from '../testing/alerts.ts'
import { type AppWorld, givenApp } from '../testing/app-world.ts'
import { onBothEngines } from '../testing/database.ts'
import { startReceiver } from '../testing/receiver.ts'
import type { Settings } from '../testing/server-process.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
// biome-ignore lint/suspicious/noExplicitAny: the answer of the API, compared by the test
type Answer = any

onBothEngines('incidents', (_fresh, engine) => {
  test('anyone with the link of a message acknowledges with a POST; opening it changes nothing', async () => {
    const { world, receiver, incidentOf, fail } = await givenReceiver(engine, { delay: 0 })
    await fail('shop.example.com')
    const { acknowledge } = receiver.last()
    const path = new URL(acknowledge).pathname.replace('/dashboard/alert-acknowledgement/', '/alert-acknowledgements/')
    const open = async (method: string, at = path) => await world.call(at, { method, key: null })

    expect((await open('GET')).body).toMatchObject({ state: 'open', title: 'shop.example.com A: Mismatch' })
    expect((await incidentOf()).acknowledged).toBeNull()
    expect((await open('POST', path.replace('alr_', 'alr_0'))).status).toBe(404)
    expect((await open('POST')).body).toMatchObject({ state: 'acknowledged', acknowledged_by: 'Link in Receiver' })
    expect((await open('POST')).status).toBe(200)
    expect(await incidentOf()).toMatchObject({ acknowledged: expect.any(String), acknowledged_by: 'Link in Receiver' })
    const { data } = (await world.call('/audit-log')).body
    expect(data.filter(({ action }: Answer) => action === 'incident.updated')).toHaveLength(1)
  })

  test('the timeline says what happened and who was notified', async () => {
    const { world, incidentOf, fail, change } = await givenReceiver(engine, { delay: 0 })
    const monitor = await fail('shop.example.com')
    const { id } = await incidentOf()
    const patch = async (body: object) => (await world.call(`/incidents/${id}`, { method: 'PATCH', body })).body
    const [agent] = (await world.call('/agents')).body.data
    expect(await patch({ acknowledged: true, assignee: agent.id, note: 'On it.' })).toMatchObject({
      assignee: agent.id,
    })
    expect((await patch({ assignee: 'agt_1' })).errors.assignee).toContain('Unknown agent')
    expect((await patch({ snoozed_until: '2020-01-01' })).errors.snoozed_until).toContain('future')
    expect((await patch({ snoozed_until: '2060-01-01' })).errors.snoozed_until).toContain('30 days')
    await change({ monitor, from: 'MISMATCH', to: 'VALID' })

    const { data } = (await world.call(`/incidents/${id}/timeline`)).body
    expect(data.map(({ kind, actor, detail }: Answer) => [kind, actor, detail])).toEqual([
      ['opened', null, 'shop.example.com A'],
      ['sent', 'Receiver', 'shop.example.com A: Mismatch'],
      ['acknowledged', 'First key', null],
      ['assigned', 'First key', agent.name || agent.email],
      ['noted', 'First key', 'On it.'],
      ['resolved', null, null],
    ])
    const events = (await world.call(`/monitors/${monitor}/events?include=incident`)).body.data
    expect(events.map((event: Answer) => event.incident_id)).toEqual([id, id])
  })

  test('monitors of several domains are one incident where they share the wrong records, a name server or a resolver', async () => {
    const { world, incidents, change } = await givenReceiver(engine, { delay: 0 })
    const names = ['a.example.com', 'b.example.org', 'c.example.net', 'd.example.edu', 'e.example.com', 'f.example.org']
    const [one, two, three, four, five, six] = await Promise.all(names.map((name) => monitorOf(world, name)))
    const silent = (path: string, name: string) => ({ path, name, server: name, outcome: { kind: 'timeout' } })
    await change(
      { monitor: one!, to: 'MISMATCH', found: ['192.0.2.66'] },
      { monitor: two!, to: 'MISMATCH', found: ['192.0.2.66'] },
      { monitor: three!, to: 'TIMEOUT', paths: [silent('authoritative', 'ns1.host.example')] },
      {
        monitor: four!,
        to: 'INVALID',
        paths: [silent('authoritative', 'NS1.host.example'), silent('recursive', '192.0.2.1:53')],
      },
      { monitor: five!, to: 'TIMEOUT', paths: [silent('recursive', '192.0.2.53:53')] },
      { monitor: six!, to: 'TIMEOUT', paths: [silent('recursive', '192.0.2.53:53')] },
    )
    const shown = (await incidents()).map(({ cause, cause_value, monitors }: Answer) => [cause, cause_value, monitors])
    expect(shown).toEqual([
      ['value', '192.0.2.66', 2],
      ['name_server', 'ns1.host.example', 2],
      ['upstream', '192.0.2.53:53', 2],
    ])
    // Once resolved, the cause opens another incident.
    await change(...[one!, two!].map((monitor) => ({ monitor, from: 'MISMATCH', to: 'VALID' })))
    await change({ monitor: two!, to: 'MISMATCH', found: ['192.0.2.66'] })
    expect((await incidents()).at(-1)).toMatchObject({ zone: 'example.org', cause: 'zone', monitors: 1 })
  })

  test('a rule repeats its message until somebody acknowledges, and escalates', async () => {
    const { world, receiver, channel, incidentOf, fail, passing } = await givenReceiver(engine, {})
    const second = await secondChannel(world)
    const rule = { delay: 0, repeat_every: 2, escalate_after: 30, escalation_channel: second.id }
    const [{ id }] = (await world.call('/alert-rules?order_way=desc')).body.data
    expect((await world.call(`/alert-rules/${id}`, { method: 'PATCH', body: rule })).status).toBe(200)
    await fail('shop.example.com')
    expect([receiver.received.length, second.received.length]).toEqual([1, 0])
    await passing(20 * MINUTE_MS)
    expect(second.received).toHaveLength(0)
    await passing(10 * MINUTE_MS)
    expect(JSON.parse(second.received[0]!.body.toString()).text).toContain('Nobody acknowledged this yet.')
    await passing(2 * HOUR_MS)
    await passing(2 * HOUR_MS)
    expect([receiver.received.length, second.received.length]).toEqual([3, 3])
    const incident = await incidentOf()
    await world.call(`/incidents/${incident.id}`, { method: 'PATCH', body: { acknowledged: true } })
    await passing(3 * HOUR_MS)
    expect([receiver.received.length, second.received.length]).toEqual([3, 3])
    const alerts = (await world.call(`/alerts?incident_id=${incident.id}`)).body.data
    expect(alerts.filter((alert: Answer) => alert.channel_id === channel)).toMatchObject([{ status: 'SENT' }])
    expect(alerts.filter((alert: Answer) => alert.is_escalation)).toMatchObject([{ channel_id: second.id }])
  })

  test('a rule that repeats more often than it escalates escalates all the same', async () => {
    const { world, receiver, fail, passing, rule } = await givenReceiver(engine, { delay: 0 })
    const chief = await secondChannel(world)
    const escalation = { repeat_every: 1, escalate_after: 90, escalation_channel: chief.id }
    expect((await world.call(`/alert-rules/${rule}`, { method: 'PATCH', body: escalation })).status).toBe(200)
    await fail('shop.example.com')
    for (let minutes = 0; minutes < 80; minutes += 10) await passing(10 * MINUTE_MS)
    expect([receiver.received.length, chief.received.length]).toEqual([2, 0])
    await passing(10 * MINUTE_MS)
    expect([receiver.received.length, chief.received.length]).toEqual([2, 1])
  })

  test('a repetition goes on after a message was combined in a summary, and after one could not be sent', async () => {
    const { world, receiver, fail, passing, incidents } = await givenReceiver(
      engine,
      { delay: 0, repeat_every: 2 },
      { ALERTS_PER_HOUR: '1' },
    )
    await fail('shop.example.com')
    await fail('blog.example.org')
    const [shop, blog] = await incidents()
    await world.call(`/incidents/${shop.id}`, { method: 'PATCH', body: { acknowledged: true } })
    await passing(HOUR_MS)
    const sent = ['shop.example.com A: Mismatch', '1 more alert']
    expect(receiver.titles()).toEqual(sent)
    const { data: timeline } = (await world.call(`/incidents/${blog.id}/timeline`)).body
    expect(timeline.map(({ kind }: Answer) => kind)).toEqual(['opened', 'sent'])

    await passing(2 * HOUR_MS)
    sent.push('blog.example.org A: Mismatch')
    expect(receiver.titles()).toEqual(sent)

    // No retry can succeed after a 410, and a message that people ask for has none.
    receiver.answers({ status: 410 })
    await passing(2 * HOUR_MS)
    const alertOf = async () => (await world.call(`/alerts?incident_id=${blog.id}`)).body.data.at(-1)
    expect(await alertOf()).toMatchObject({ status: 'FAILED', next_attempt: expect.any(String) })
    receiver.answers({ status: 503 })
    await world.call(`/alerts/${(await alertOf()).id}/retry`, { method: 'POST' })
    await passing(HOUR_MS)
    expect((await alertOf()).status).toBe('FAILED')
    receiver.answers(200)
    const before = receiver.received.length
    await passing(2 * HOUR_MS)
    expect(receiver.titles().slice(before)).toEqual(['blog.example.org A: Mismatch'])
    expect(await alertOf()).toMatchObject({ status: 'SENT', retries: 0 })

    await world.call(`/incidents/${blog.id}`, { method: 'PATCH', body: { acknowledged: true } })
    for (let hours = 0; hours < 6; hours += 2) await passing(2 * HOUR_MS)
    expect(receiver.received).toHaveLength(before + 1)
  })

  test('a channel that a rule has no more receives no further repetition, and the recovery', async () => {
    const { world, receiver, fail, change, passing, rule } = await givenReceiver(engine, { delay: 0, repeat_every: 1 })
    const shop = await fail('shop.example.com')
    const other = await secondChannel(world)
    await world.call(`/alert-rules/${rule}`, { method: 'PATCH', body: { channels: [other.id] } })
    for (let hours = 0; hours < 3; hours++) await passing(HOUR_MS)
    await change({ monitor: shop, from: 'MISMATCH', to: 'VALID' })
    await passing(MINUTE_MS)
    expect(receiver.titles()).toEqual(['shop.example.com A: Mismatch', 'shop.example.com A: recovered'])
    expect(other.received).toHaveLength(0)
  })

  test('a snoozed incident sends nothing, and reminds at the end of the snooze', async () => {
    const { world, receiver, incidentOf, fail, passing } = await givenReceiver(engine, { delay: 0 })
    await fail('shop.example.com')
    const { id } = await incidentOf()
    const snooze = (until: number | null) => {
      const snoozed_until = until === null ? null : new Date(until).toISOString()
      return world.call(`/incidents/${id}`, { method: 'PATCH', body: { snoozed_until } })
    }
    await snooze(world.deps.clock.now() + 3 * 24 * HOUR_MS)
    for (let day = 0; day < 2; day++) await passing(24 * HOUR_MS)
    expect(receiver.received).toHaveLength(1)
    await passing(25 * HOUR_MS)
    expect(receiver.received).toHaveLength(2)
    await passing(72 * HOUR_MS)
    expect(receiver.received).toHaveLength(2)
  })

  test('in quiet hours alerts wait until the end, and a digest is one message', async () => {
    const quiet_hours = { from: '22:00', until: '07:00' }
    const { world, receiver, fail, change, passing, rule } = await givenReceiver(engine, { delay: 0, quiet_hours })
    await passing(until(world, '23:00'))
    await fail('shop.example.com')
    expect(receiver.received).toHaveLength(0)
    const blog = await fail('blog.example.org')
    await change({ monitor: blog, from: 'MISMATCH', to: 'VALID' })
    await passing(until(world, '07:00'))
    expect(receiver.titles()).toEqual(['shop.example.com A: Mismatch'])

    const digest = { quiet_hours: null, digest: 'daily', timezone: 'Asia/Kolkata' }
    expect((await world.call(`/alert-rules/${rule}`, { method: 'PATCH', body: digest })).body).toMatchObject(digest)
    await fail('wiki.example.net')
    await change({ monitor: blog, to: 'TIMEOUT' })
    await passing(MINUTE_MS)
    expect(receiver.received).toHaveLength(1)
    await passing(until(world, '02:30')) // 08:00 in India
    expect(receiver.titles().slice(1)).toEqual(['Digest: 2 alerts'])
    expect(receiver.last().facts[0].value.split('\n').sort()).toEqual([
      ...['blog.example.org A: Timeout', 'wiki.example.net A: Mismatch'],
    ])
  })

  test('a digest of the quiet hours is sent at their end', async () => {
    const quiet_hours = { from: '20:00', until: '09:00' }
    const { world, receiver, fail, passing } = await givenReceiver(engine, { delay: 0, quiet_hours, digest: 'daily' })
    await passing(until(world, '19:00'))
    await fail('shop.example.com')
    await passing(until(world, '22:00'))
    await fail('blog.example.org')
    await passing(until(world, '08:30'))
    expect(receiver.received).toHaveLength(0)
    await passing(until(world, '09:00'))
    expect(receiver.titles()).toEqual(['Digest: 2 alerts'])
  })

  test('a rule that contradicts itself is refused with the field', async () => {
    const { world, channel } = await givenReceiver(engine, { delay: 0 })
    const refused = async (body: object) =>
      (await world.call('/alert-rules', { method: 'POST', body: { name: 'A', channels: [channel], ...body } })).body
        .errors
    expect(Object.keys(await refused({ escalate_after: 5 }))).toEqual(['escalate_after'])
    expect(await refused({ escalate_after: 5, escalation_channel: channel })).toMatchObject({
      escalation_channel: expect.stringContaining('already'),
    })
    expect(Object.keys(await refused({ escalation_channel: 'chn_1', escalate_after: 1 }))).toEqual([
      'escalation_channel',
    ])
    expect(Object.keys(await refused({ digest: 'daily', repeat_every: 1 }))).toEqual(['repeat_every'])
    expect(Object.keys(await refused({ timezone: 'Mars/Olympus' }))).toEqual(['timezone'])
    const equal = { from: '22:00', until: '22:00' }
    expect(Object.keys(await refused({ quiet_hours: equal }))).toEqual(['quiet_hours.until'])
    expect(Object.keys(await refused({ quiet_hours: { from: '25:00', until: '07:00' } }))).toEqual(['quiet_hours.from'])
  })

  test('a monitor that was never valid alerts nobody, unless the rule says so; its page says which rules apply', async () => {
    const { world, receiver, rule, fail } = await givenReceiver(engine, { delay: 0, name_pattern: '*.example.com' })
    const shop = await fail('shop.example.com', 'UNSET')
    const rulesOf = async (monitor: string) =>
      (await world.call(`/monitors/${monitor}/alert-rules`)).body.data.map((each: Answer) => [each.name, each.reason])
    expect(receiver.received).toHaveLength(0)
    expect(await rulesOf(shop)).toEqual([
      ['All monitors', 'never_valid'],
      ['Receiver', 'never_valid'],
    ])
    expect(
      (await world.call(`/alert-rules/${rule}`, { method: 'PATCH', body: { first_results: true } })).body,
    ).toMatchObject({ first_results: true })
    const blog = await fail('blog.example.com', 'UNSET')
    expect(receiver.titles()).toEqual(['blog.example.com A: Mismatch'])
    expect((await rulesOf(blog))[1]).toEqual(['Receiver', 'matches'])
    expect((await rulesOf(await monitorOf(world, 'shop.example.org')))[1]).toEqual(['Receiver', 'name'])
  })

  test('an alert that is being sent is not sent a second time manually', async () => {
    const { world, receiver, fail } = await givenReceiver(engine, { delay: 0 })
    receiver.answers({ status: 503 })
    await fail('shop.example.com')
    const [alert] = (await world.call('/alerts?status=RETRYING')).body.data
    world.pass(HOUR_MS)
    const { db, clock } = world.deps
    await claimDue(db, 'due_alerts', { now: clock.now(), process: 7, limit: 1 })
    const retry = () => world.call(`/alerts/${alert.id}/retry`, { method: 'POST' })
    expect([(await retry()).status, (await retry()).body.error]).toEqual([409, expect.stringContaining('being sent')])
    world.pass(2 * MINUTE_MS) // the process is gone, and its lease has expired
    expect((await retry()).status).toBe(202)
  })

  test('without a mail server an alert by email is canceled with the remedy, and the channel says so', async () => {
    const world = await givenApp(engine)
    const { change, send } = givenAlerting(world)
    await change({ monitor: await monitorOf(world, 'shop.example.com'), to: 'MISMATCH' })
    world.pass(11 * MINUTE_MS)
    await send()
    const { data } = (await world.call('/alerts')).body
    expect(data).toMatchObject([{ status: 'CANCELED', error: expect.stringContaining('SMTP_URL') }])
    const [channel] = (await world.call('/channels')).body.data
    expect(channel.last_error).toContain('SMTP_URL')
  })
})

/** Milliseconds until clocks in UTC show this time. */
function until(world: AppWorld, time: string): number {
  const now = new Date(world.deps.clock.now())
  const at = new Date(`${now.toISOString().slice(0, 10)}T${time}:00Z`).getTime() - now.getTime()
  return at > 0 ? at : at + 24 * HOUR_MS
}

async function monitorOf(world: AppWorld, full_domain: string): Promise<string> {
  const body = { full_domain, record_type: 'A', expected_value: '192.0.2.1' }
  return (await world.call('/monitors', { method: 'POST', body })).body.id
}

/** A channel that no rule names yet, with the requests that it received. */
async function secondChannel(world: AppWorld) {
  const { url, received } = await startReceiver()
  const settings = { endpoint: `${url}/second` }
  const { body } = await world.call('/channels', { method: 'POST', body: { name: 'Chief', type: 'http', settings } })
  return { id: body.id as string, received }
}

/** A channel that sends JSON to a receiver, and a rule for it beside the default one, whose emails nobody receives. */
async function givenReceiver(engine: Engine, filters: object, variables: Settings = {}) {
  const world = await givenApp(engine, variables)
  const receiver = await startReceiver()
  const { change, send } = givenAlerting(world)
  const post = async (path: string, body: unknown) => (await world.call(path, { method: 'POST', body })).body
  const settings = { endpoint: `${receiver.url}/alerts` }
  const channel = await post('/channels', { name: 'Receiver', type: 'http', settings })
  const rule = await post('/alert-rules', { name: 'Receiver', channels: [channel.id], ...filters })
  const passing = async (ms: number) => {
    world.pass(ms)
    await send()
  }
  const bodies = (): Answer[] => receiver.received.map(({ body }) => JSON.parse(body.toString()))
  const incidents = async (): Promise<Answer[]> => (await world.call('/incidents')).body.data
  return {
    ...{ world, change, send, passing, incidents, channel: channel.id as string, rule: rule.id as string },
    receiver: Object.assign(receiver, {
      last: () => bodies().at(-1),
      titles: () => bodies().map(({ title }) => title),
    }),
    incidentOf: async () => (await incidents())[0],
    /** Fails, and what is due within a minute is sent. */
    async fail(name: string, from = 'VALID'): Promise<string> {
      const monitor = await monitorOf(world, name)
      await change({ monitor, from, to: 'MISMATCH' })
      await passing(MINUTE_MS)
      return monitor
    },
  }
}
