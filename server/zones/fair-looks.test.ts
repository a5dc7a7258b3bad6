import { expect, test } from 'vitest'
import type { AuthoritativeClient } from '../dns/resolver/authoritative-client.ts'
import { LoopHealth } from '../loop-health.ts'
import { createWakeUps } from '../queue/wake-up.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp } from '../testing/test-app.ts'
import { runZoneWorker } from './worker.ts'

onBothEngines('fair looks at zones', (_, engine) => {
  test('40 silent zones of each of two organizations leave places to another one', async () => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    const organizations = [await world.organization('First'), await world.organization('Second')]
    const create = async (name: string, key: string) =>
      expect(await world.call('/zones', { method: 'POST', body: { name }, key })).toMatchObject({ status: 201 })
    for (const [index, { key }] of organizations.entries())
      for (let number = 0; number < 40; number++) await create(`silent${number}-${index}.com`, key)
    await db.updateTable('due_zones').set({ due_at: 1 }).execute()
    await create('other.com', (await world.organization('Other')).key)
    const abandon = new AbortController()
    const { promise: isReached, resolve: reached } = Promise.withResolvers<void>()
    let silent = 0
    const zoneView: AuthoritativeClient['zoneView'] = ({ name }) => {
      if (name === 'other.com') reached()
      else silent++
      return new Promise((_, reject) => {
        abandon.signal.addEventListener('abort', () => reject(abandon.signal.reason))
      })
    }
    const stop = new AbortController()
    const running = runZoneWorker(
      {
        ...{ db, clock, log: world.deps.log, wakeUps: createWakeUps(), loopHealth: new LoopHealth(), process: 7 },
        authoritativeClient: {
          zoneView,
          findRootProblem: async () => undefined,
        } as Partial<AuthoritativeClient> as never,
        serverValidator: {} as never,
        ...{ packetSender: {} as never, port: 53, networkCheck: undefined },
      },
      { stop: stop.signal, abandon: abandon.signal },
    )

    await isReached
    stop.abort()
    abandon.abort(new Error('the test is over'))
    await running

    expect(silent).toBeLessThan(16)
  }, 20_000)

  test('a zone that is changed during each look takes no more than the share of its organization', async () => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    await world.call('/zones', { method: 'POST', body: { name: 'silent.com' } })
    const abandon = new AbortController()
    let looks = 0
    const zoneView: AuthoritativeClient['zoneView'] = () => {
      looks++
      return new Promise((_, reject) => {
        abandon.signal.addEventListener('abort', () => reject(abandon.signal.reason))
      })
    }
    const stop = new AbortController()
    const wakeUps = createWakeUps()
    const running = runZoneWorker(
      {
        ...{ db, clock, log: world.deps.log, wakeUps, loopHealth: new LoopHealth(), process: 7 },
        authoritativeClient: {
          zoneView,
          findRootProblem: async () => undefined,
        } as Partial<AuthoritativeClient> as never,
        serverValidator: {} as never,
        ...{ packetSender: {} as never, port: 53, networkCheck: undefined },
      },
      { stop: stop.signal, abandon: abandon.signal },
    )
    for (let change = 0; change < 14; change++) {
      await clock.sleep(100)
      await db.updateTable('due_zones').set({ due_at: clock.now(), claimed_by: null }).execute()
      wakeUps.zones.send()
    }
    await clock.sleep(200)
    stop.abort()
    abandon.abort(new Error('the test is over'))
    await running

    expect(looks).toBeGreaterThan(4)
    expect(looks).toBeLessThanOrEqual(8)
  }, 20_000)
})
