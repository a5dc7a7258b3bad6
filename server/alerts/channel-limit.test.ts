import { expect, test } from 'vitest'
import { givenAlertReceiver } from '../testing/alerts.ts'
import { onBothEngines } from '../testing/database.ts'
import { HOUR_MS } from '../times.ts'

onBothEngines('the hourly limit of a channel', (_fresh, engine) => {
  test('counts retries that were requested, which are refused above it', async () => {
    const { world, receiver, channel, fail, send } = await givenAlertReceiver(
      engine,
      { delay: 0 },
      { ALERTS_PER_HOUR: '3' },
    )
    await fail('shop.example.com')
    const { data } = (await world.call('/alerts')).body
    const { id } = data.find(({ channel_id }: { channel_id: string }) => channel_id === channel)
    const statuses = []
    for (let number = 0; number < 5; number++) {
      statuses.push((await world.call(`/alerts/${id}/retry`, { method: 'POST' })).status)
      await send()
    }
    expect(receiver.received).toHaveLength(3)
    expect(statuses).toEqual([202, 202, 429, 429, 429])

    world.pass(HOUR_MS)
    expect((await world.call(`/alerts/${id}/retry`, { method: 'POST' })).status).toBe(202)
  })

  test('counts alerts that are replayed again and again', async () => {
    const { world, receiver, channel, fail, send } = await givenAlertReceiver(
      engine,
      { delay: 0 },
      { ALERTS_PER_HOUR: '3' },
    )
    const since = new Date(world.deps.clock.now() - HOUR_MS).toISOString()
    await fail('shop.example.com')
    for (let number = 0; number < 5; number++) {
      await world.call(`/channels/${channel}/replay`, { method: 'POST', body: { since } })
      await send()
    }
    expect(receiver.received).toHaveLength(3)
  })
})
