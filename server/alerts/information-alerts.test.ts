import { expect, test } from 'vitest'
import type { Engine } from '../database/engine.ts'
import { givenAlertReceiver, createMonitor as newMonitor } from '../testing/alerts.ts'
import { CONTRACTS } from '../testing/channel-contracts.ts'
import { onBothEngines } from '../testing/database.ts'
import { insertInformationAlerts } from './information-alerts.ts'

const FOUND = { what: 'record_found' as const, expected: ['192.0.2.1'] }

async function givenInformation(engine: Engine, filters: object = {}) {
  const given = await givenAlertReceiver(engine, filters)
  const { db } = given.world.deps
  const createMonitor = async (name: string) => {
    const id = await newMonitor(given.world, name)
    return await db.selectFrom('monitors').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  }
  return { ...given, createMonitor }
}

onBothEngines('information', (_fresh, engine) => {
  test('is sent once to each channel of the rules that match the monitor', async () => {
    const { world, receiver, channel, createMonitor, send } = await givenInformation(engine)
    const rule = (body: object) =>
      world.call('/alert-rules', { method: 'POST', body: { channels: [channel], ...body } })
    await rule({ name: 'The same channel' })
    await rule({ name: 'Other names', name_pattern: '*.example.org' })
    const monitor = await createMonitor('shop.example.com')
    await insertInformationAlerts(world.deps.db, monitor, FOUND, world.deps.clock.now())
    await send()
    expect(receiver.titles()).toEqual(['shop.example.com A: record found'])
    expect(receiver.last().kind).toBe('information')
    const { data } = (await world.call(`/alerts?channel_id=${channel}`)).body
    expect(data).toMatchObject([{ kind: 'information', status: 'SENT', incident_id: null }])

    for (const { id } of (await world.call('/alert-rules')).body.data)
      await world.call(`/alert-rules/${id}`, { method: 'PATCH', body: { notify_recovery: false } })
    await insertInformationAlerts(world.deps.db, monitor, FOUND, world.deps.clock.now())
    expect((await world.call(`/alerts?channel_id=${channel}`)).body.data).toHaveLength(1)
  })

  test('is part of the digest of its rule, and a replay sends it again', async () => {
    const { world, receiver, channel, createMonitor, send } = await givenInformation(engine, { digest: 'hourly' })
    const { db, clock } = world.deps
    const monitor = await createMonitor('shop.example.com')
    const before = { what: 'change_done' as const, expected: ['192.0.2.2'], before: ['192.0.2.1'] }
    await insertInformationAlerts(db, monitor, before, clock.now())
    await send()
    expect(receiver.titles()).toEqual([])
    world.pass(60 * 60_000)
    await send()
    expect(receiver.titles()).toEqual(['Digest: 1 alert'])
    const since = new Date(clock.now() - 2 * 60 * 60_000).toISOString()
    await world.call(`/channels/${channel}/replay`, { method: 'POST', body: { since } })
    world.pass(3 * 60_000)
    await send()
    expect(receiver.titles()).toEqual(['Digest: 1 alert', 'shop.example.com A: change done'])
  })

  test('is not sent to channels that page people on call', async () => {
    const { world, receiver, createMonitor, send } = await givenInformation(engine)
    const settings = CONTRACTS.pagerduty.settings(receiver.url)
    const body = { name: 'On call', type: 'pagerduty', settings }
    const { id } = (await world.call('/channels', { method: 'POST', body })).body
    await world.call('/alert-rules', { method: 'POST', body: { name: 'On call', channels: [id] } })
    await insertInformationAlerts(world.deps.db, await createMonitor('shop.example.com'), FOUND, world.deps.clock.now())
    await send()
    expect(receiver.titles()).toEqual(['shop.example.com A: record found'])
    expect((await world.call(`/alerts?channel_id=${id}`)).body.data).toMatchObject([
      { status: 'CANCELED', error: 'the channel is for failures only' },
    ])
  })
})
