import { expect, test } from 'vitest'
import { forUpdate } from '../database/dialect.ts'
import { claimDue } from '../queue/lease-queue.ts'
import { createSecondChannel, givenAlertReceiver, type Json } from '../testing/alerts.ts'
import { onBothEngines } from '../testing/database.ts'
import type { TestApp } from '../testing/test-app.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

onBothEngines('when alerts are sent', (_fresh, engine) => {
  test('a rule repeats its message and escalates until somebody acknowledges', async () => {
    const { world, receiver, channel, incidentOf, fail, passing } = await givenAlertReceiver(engine, {})
    const second = await createSecondChannel(world)
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
    expect(alerts.filter((alert: Json) => alert.channel_id === channel)).toMatchObject([{ status: 'SENT' }])
    expect(alerts.filter((alert: Json) => alert.is_escalation)).toMatchObject([{ channel_id: second.id }])
  })

  test('a rule that repeats before its escalation is due still escalates', async () => {
    const { world, receiver, fail, passing, rule } = await givenAlertReceiver(engine, { delay: 0 })
    const chief = await createSecondChannel(world)
    const escalation = { repeat_every: 1, escalate_after: 90, escalation_channel: chief.id }
    expect((await world.call(`/alert-rules/${rule}`, { method: 'PATCH', body: escalation })).status).toBe(200)
    await fail('shop.example.com')
    for (let minutes = 0; minutes < 80; minutes += 10) await passing(10 * MINUTE_MS)
    expect([receiver.received.length, chief.received.length]).toEqual([2, 0])
    await passing(10 * MINUTE_MS)
    expect([receiver.received.length, chief.received.length]).toEqual([2, 1])
  })

  test('repetitions continue after a message was combined in a summary, and after one could not be sent', async () => {
    const { world, receiver, fail, passing, incidents } = await givenAlertReceiver(
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
    expect(timeline.map(({ kind }: Json) => kind)).toEqual(['opened', 'sent'])

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

  test('a channel that was removed from a rule receives no repetition, but does receive the recovery', async () => {
    const { world, receiver, fail, change, passing, rule } = await givenAlertReceiver(engine, {
      delay: 0,
      repeat_every: 1,
    })
    const shop = await fail('shop.example.com')
    const other = await createSecondChannel(world)
    await world.call(`/alert-rules/${rule}`, { method: 'PATCH', body: { channels: [other.id] } })
    for (let hours = 0; hours < 3; hours++) await passing(HOUR_MS)
    await change({ monitor: shop, from: 'MISMATCH', to: 'VALID' })
    await passing(MINUTE_MS)
    expect(receiver.titles()).toEqual(['shop.example.com A: Mismatch', 'shop.example.com A: recovered'])
    expect(other.received).toHaveLength(0)
  })

  test('Opsgenie receives the close only after it had time to create the alert', async () => {
    const { world, receiver, fail, change, passing, rule } = await givenAlertReceiver(engine, { delay: 0 })
    const settings = { api_key: 'a key of the integration', api_url: receiver.url }
    const { id } = (
      await world.call('/channels', { method: 'POST', body: { name: 'On call', type: 'opsgenie', settings } })
    ).body
    await world.call(`/alert-rules/${rule}`, { method: 'PATCH', body: { channels: [id] } })
    const monitor = await fail('shop.example.com')
    await change({ monitor, from: 'MISMATCH', to: 'VALID' })
    await passing(0)
    const paths = () => receiver.received.map(({ path }) => path.replace(/inc_\w+/, 'inc'))
    expect(paths()).toEqual(['/v2/alerts'])
    await passing(5000)
    expect(paths()).toEqual(['/v2/alerts', '/v2/alerts/inc/close?identifierType=alias'])
  })

  test('a replay sends the alerts of a period again, recoveries after failures', async () => {
    const { world, receiver, fail, change, passing, channel } = await givenAlertReceiver(engine, { delay: 0 })
    const replay = (body: object) => world.call(`/channels/${channel}/replay`, { method: 'POST', body })
    await fail('early.example.com')
    await passing(HOUR_MS)
    const since = new Date(world.deps.clock.now()).toISOString()
    const shop = await fail('shop.example.org')
    await change({ monitor: shop, from: 'MISMATCH', to: 'VALID' })
    await passing(MINUTE_MS)
    receiver.answers({ status: 410 })
    await fail('blog.example.net')
    receiver.answers(200)
    const before = receiver.received.length
    const ids = receiver.received.slice(1).map(({ body }) => JSON.parse(body.toString()).id)

    expect((await replay({ since, status: 'FAILED' })).body).toEqual({ count: 1 })
    expect((await replay({ since })).body).toEqual({ count: 3 })
    await passing(0)
    expect(receiver.titles().slice(before).sort()).toEqual([
      ...['blog.example.net A: Mismatch', 'shop.example.org A: Mismatch'],
    ])
    await passing(2 * MINUTE_MS)
    expect(receiver.titles().slice(before + 2)).toEqual(['shop.example.org A: recovered'])
    const again = receiver.received.slice(before).map(({ body }) => JSON.parse(body.toString()).id)
    expect(again.sort()).toEqual(ids.sort())
    await passing(HOUR_MS)
    expect(receiver.received).toHaveLength(before + 3)

    expect((await replay({ since, until: since })).body.errors).toHaveProperty('until')
    expect(Object.keys((await replay({ since: 'soon', status: 'HELD' })).body.errors).sort()).toEqual([
      'since',
      'status',
    ])
    expect((await replay({ since, until: new Date(Date.parse(since) + 1).toISOString() })).body).toEqual({ count: 0 })
  })

  test('a repetition has a new message id, so that Matrix shows it, and names the duration', async () => {
    const { world, receiver, rule, fail, passing } = await givenAlertReceiver(engine, { delay: 0 })
    const settings = { homeserver: receiver.url, access_token: 'syt_token', room_id: '!xxxx:example.org' }
    const { id } = (
      await world.call('/channels', { method: 'POST', body: { name: 'Matrix', type: 'matrix', settings } })
    ).body
    await world.call(`/alert-rules/${rule}`, { method: 'PATCH', body: { channels: [id], repeat_every: 2 } })
    await fail('shop.example.org')
    await passing(2 * HOUR_MS)
    const paths = receiver.received.map(({ path }) => path)
    expect([paths.length, new Set(paths).size]).toEqual([2, 2])
    expect(receiver.last().body).toContain('Still failing after 2 h')
  })

  test('a replay skips an alert whose attempt is being recorded, without waiting', async () => {
    const { world, fail, channel, rule } = await givenAlertReceiver(engine, { delay: 0 })
    await world.call(`/alert-rules/${rule}`, { method: 'PATCH', body: { repeat_every: 2 } })
    await fail('shop.example.org')
    const replay = () => world.call(`/channels/${channel}/replay`, { method: 'POST', body: { since: 0 } })
    const { db } = world.deps
    if (engine === 'postgres') {
      await db.transaction().execute(async (recording) => {
        await recording.selectFrom('due_alerts').selectAll().modifyEnd(forUpdate(db)).execute()
        expect((await replay()).body).toEqual({ count: 0 })
      })
    }
    expect((await replay()).body).toEqual({ count: 1 })
  })

  test('a snoozed incident sends no alerts until the snooze ends, and then a reminder', async () => {
    const { world, receiver, incidentOf, fail, passing } = await givenAlertReceiver(engine, { delay: 0 })
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

  test('the first alert of an incident that was snoozed before it was due waits for the end of the snooze', async () => {
    const { world, receiver, incidentOf, fail, passing } = await givenAlertReceiver(engine, { delay: 10 })
    await fail('shop.example.com')
    const snoozed_until = new Date(world.deps.clock.now() + HOUR_MS).toISOString()
    const { id } = await incidentOf()
    await world.call(`/incidents/${id}`, { method: 'PATCH', body: { snoozed_until } })
    for (let minutes = 0; minutes < 50; minutes += 10) await passing(10 * MINUTE_MS)
    expect(receiver.received).toHaveLength(0)
    await passing(11 * MINUTE_MS)
    expect(receiver.titles()).toEqual(['shop.example.com A: Mismatch'])
  })

  test('alerts wait for the end of quiet hours, and a digest is one message', async () => {
    const quiet_hours = { from: '22:00', until: '07:00' }
    const { world, receiver, fail, change, passing, rule } = await givenAlertReceiver(engine, { delay: 0, quiet_hours })
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

  test('a digest that is due in quiet hours is sent at their end', async () => {
    const quiet_hours = { from: '20:00', until: '09:00' }
    const { world, receiver, fail, passing } = await givenAlertReceiver(engine, {
      delay: 0,
      quiet_hours,
      digest: 'daily',
    })
    await passing(until(world, '19:00'))
    await fail('shop.example.com')
    await passing(until(world, '22:00'))
    await fail('blog.example.org')
    await passing(until(world, '08:30'))
    expect(receiver.received).toHaveLength(0)
    await passing(until(world, '09:00'))
    expect(receiver.titles()).toEqual(['Digest: 2 alerts'])
  })

  test('an alert that is being sent is not sent a second time manually', async () => {
    const { world, receiver, fail } = await givenAlertReceiver(engine, { delay: 0 })
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
})

/** Milliseconds until clocks in UTC show this time. */
function until(world: TestApp, time: string): number {
  const now = new Date(world.deps.clock.now())
  const at = new Date(`${now.toISOString().slice(0, 10)}T${time}:00Z`).getTime() - now.getTime()
  return at > 0 ? at : at + 24 * HOUR_MS
}
