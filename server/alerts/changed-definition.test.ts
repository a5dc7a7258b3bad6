import { expect, test } from 'vitest'
import { createMonitor, givenAlertReceiver, type Json } from '../testing/alerts.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenJobs } from '../testing/jobs.ts'

const MINUTE_MS = 60_000
const NEW = { expected_value: '192.0.2.7' }

onBothEngines('a definition that changes', (_fresh, engine) => {
  test.each(['PATCH', 'a job'])('by %s: what was valid before and is not valid after alerts people', async (by) => {
    const { world, receiver, incidents, change, passing } = await givenAlertReceiver(engine, { delay: 0 })
    const monitor = await createMonitor(world, 'shop.example.com')
    await change({ monitor, from: 'UNSET', to: 'VALID' })
    if (by === 'PATCH') await world.call(`/monitors/${monitor}`, { method: 'PATCH', body: NEW })
    else await givenJobs(world).run({ action: 'update', monitors: [monitor], change: NEW })
    await change({ monitor, from: 'UNSET', to: 'MISMATCH', currentValues: ['192.0.2.1'] })
    await passing(MINUTE_MS)
    expect(receiver.titles()).toEqual(['shop.example.com A: Mismatch'])
    expect(await incidents()).toMatchObject([{ monitors: 1, failing: 1 }])
    // The events are those of the specification.
    const { data } = (await world.call(`/monitors/${monitor}/events`)).body
    expect(data.map((event: Json) => [event.old_state, event.new_state])).toEqual([
      ['UNSET', 'VALID'],
      ['UNSET', 'MISMATCH'],
    ])
    const rules = (await world.call(`/monitors/${monitor}/alert-rules`)).body.data
    expect(rules.every(({ applies }: Json) => applies)).toBe(true)
    await change({ monitor, from: 'MISMATCH', to: 'VALID' })
    await passing(MINUTE_MS)
    expect(receiver.titles()[1]).toBe('shop.example.com A: recovered')
  })

  test('a monitor that was never valid opens no incident after its definition changes', async () => {
    const { world, incidents, change } = await givenAlertReceiver(engine, { delay: 0 })
    const monitor = await createMonitor(world, 'shop.example.com')
    await change({ monitor, from: 'UNSET', to: 'MISMATCH' })
    await world.call(`/monitors/${monitor}`, { method: 'PATCH', body: NEW })
    await change({ monitor, from: 'UNSET', to: 'MISMATCH' })
    expect(await incidents()).toEqual([])
  })
})
