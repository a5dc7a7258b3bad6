import { expect, test } from 'vitest'
import type { DnsClient } from '../../dns/client.ts'
import { LoopHealth } from '../../loop-health.ts'
import { createWakeUps } from '../../queue/wake-up.ts'
import { onBothEngines } from '../../testing/database.ts'
import { givenApp } from '../../testing/test-app.ts'
import { runWaitWorker } from './worker.ts'

onBothEngines('fair quick checks', (_fresh, engine) => {
  test('200 quick checks at silent name servers, of each of two organizations, leave slots to another one', async () => {
    const world = await givenApp(engine)
    const { key: second } = await world.key('admin', { organizationName: 'Second' })
    const { key: other } = await world.key('admin', { organizationName: 'Other' })
    const create = async (names: string[], key?: string) => {
      const monitors = names.map((name) => {
        return { full_domain: name, record_type: 'A', expected_value: '192.0.2.1', until: 'valid' }
      })
      const options = { method: 'POST', body: { monitors }, ...(key === undefined ? {} : { key }) }
      expect(await world.call('/monitors/bulk', options)).toMatchObject({ status: 201 })
    }
    await create(Array.from({ length: 200 }, (_, number) => `n${number}.silent.example`))
    await create(
      Array.from({ length: 200 }, (_, number) => `m${number}.silent.example`),
      second,
    )
    await create(['www.other.example'], other)
    const { db, clock } = world.deps
    const due = (name: string, due_at: number) =>
      db
        .updateTable('due_waits')
        .set({ due_at })
        .where('monitor_id', 'in', db.selectFrom('monitors').select('id').where('owner', 'like', `%${name}`))
        .execute()
    await due('silent.example', 1)
    await due('other.example', clock.now())
    const silent: string[] = []
    const abandon = new AbortController()
    const { promise: isReached, resolve: reached } = Promise.withResolvers<void>()
    const query: DnsClient['query'] = ({ name }) => {
      if (name.endsWith('silent.example')) silent.push(name)
      else reached()
      return new Promise((_, reject) => {
        if (abandon.signal.aborted) reject(abandon.signal.reason)
        abandon.signal.addEventListener('abort', () => reject(abandon.signal.reason))
      })
    }
    const dns: DnsClient = { servers: [], query, statuses: () => [], close: async () => {} }
    const stop = new AbortController()
    const running = runWaitWorker(
      { ...world.deps, dns, wakeUps: createWakeUps(), loopHealth: new LoopHealth(), process: 7 },
      { stop: stop.signal, abandon: abandon.signal },
    )
    await isReached
    stop.abort()
    abandon.abort(new Error('the test is over'))
    await running
    expect(silent.length).toBeLessThanOrEqual(49)
  })
})
