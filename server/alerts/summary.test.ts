import { expect, test } from 'vitest'
import { createMonitor, givenAlertReceiver, type Json } from '../testing/alerts.ts'
import { onBothEngines } from '../testing/database.ts'
import { insertInformationAlerts } from './information-alerts.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const FOUND = { what: 'record_found' as const, expected: ['192.0.2.1'] }

onBothEngines('the limit of a channel', (_fresh, engine) => {
  test('information has its own: customers who finish their records hold no failure, and are summed up', async () => {
    const given = await givenAlertReceiver(engine, { delay: 0 }, { ALERTS_PER_HOUR: '2' })
    const { world, receiver, fail, passing } = given
    const { db, clock } = world.deps
    for (const name of ['a', 'b', 'c', 'd']) {
      const id = await createMonitor(world, `${name}.example.net`)
      const monitor = await db.selectFrom('monitors').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
      await insertInformationAlerts(db, monitor, FOUND, clock.now())
    }
    await passing(0)
    expect(receiver.titles()).toEqual(['a.example.net A: record found', 'b.example.net A: record found'])
    await fail('shop.example.com')
    expect(receiver.titles()[2]).toBe('shop.example.com A: Mismatch')

    await passing(HOUR_MS)
    expect(receiver.last()).toMatchObject({ kind: 'summary', title: '2 more alerts' })
    expect(receiver.last().facts).toEqual([
      { name: 'Information', value: 'c.example.net A: record found\nd.example.net A: record found' },
    ])
  })

  test('a summary says what still fails when it is sent, a recovery of a message is never held, and what is over is dropped', async () => {
    const given = await givenAlertReceiver(engine, { delay: 0 }, { ALERTS_PER_HOUR: '2' })
    const { world, receiver, change, passing, rule, incidents } = given
    const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `www.${name}.example`)
    const monitors: string[] = []
    for (const name of names) monitors.push(await createMonitor(world, name))
    for (const monitor of monitors) {
      await change({ monitor, to: 'MISMATCH', currentValues: [`192.0.2.${monitors.indexOf(monitor)}`] })
      world.pass(1000)
    }
    await passing(MINUTE_MS)
    expect(receiver.titles()).toEqual(names.slice(0, 2).map((name) => `${name} A: Mismatch`))
    // One that was announced recovers, two that are held recover, and somebody takes care of another.
    const recovered = [monitors[0]!, monitors[2]!, monitors[3]!]
    await change(...recovered.map((monitor) => ({ monitor, from: 'MISMATCH', to: 'VALID' })))
    const { id } = (await incidents()).find(({ zone }: Json) => zone === 'e.example')
    await world.call(`/incidents/${id}`, { method: 'PATCH', body: { acknowledged: true } })
    await passing(MINUTE_MS)
    expect(receiver.titles().slice(2)).toEqual(['www.a.example A: recovered'])

    await passing(HOUR_MS)
    await passing(HOUR_MS)
    expect(receiver.titles().slice(3)).toEqual(['1 more alert'])
    expect(receiver.last().facts).toEqual([{ name: 'Still failing', value: 'www.f.example A: Mismatch' }])
    const { data } = (await world.call('/alerts?limit=100')).body
    const dropped = data.filter((alert: Json) => alert.rule_id === rule && alert.status === 'CANCELED')
    expect(dropped.map(({ kind, error }: Json) => [kind, error]).sort()).toEqual([
      ['failing', 'superseded: the incident was acknowledged before the summary was sent'],
      ['failing', 'superseded: the monitors recovered before the summary was sent'],
      ['failing', 'superseded: the monitors recovered before the summary was sent'],
      ['recovered', 'superseded: its failure was not sent'],
      ['recovered', 'superseded: its failure was not sent'],
    ])

    // The recovery of what the summary announced is sent too.
    await change({ monitor: monitors[5]!, from: 'MISMATCH', to: 'VALID' })
    await passing(MINUTE_MS)
    expect(receiver.titles().at(-1)).toBe('www.f.example A: recovered')
  })
})
