import { expect, test } from 'vitest'
import { monitorLoader } from '../checks/load-monitor.ts'
import { recordChecks } from '../checks/record-checks.ts'
import { runCheck } from '../checks/run-check.ts'
import type { Engine } from '../database/engine.ts'
import { createMonitor, givenAlertReceiver, type Json } from '../testing/alerts.ts'
import { claimChecks } from '../testing/checks.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenDnsClient } from '../testing/dns.ts'
import { startDnsTree } from '../testing/dns-server-tree.ts'
import { patientClock } from '../testing/patient-clock.ts'

const MINUTE_MS = 60_000
const NAME = 'shop.example.com'

onBothEngines('monitors that are enabled again', (_fresh, engine) => {
  test.each([
    [
      'with its own route',
      (id: string) => [`/monitors/${id}/disable`, `/monitors/${id}/enable`].map((path) => ({ path })),
    ],
    [
      'with its group',
      () => [false, true].map((is_active) => ({ path: '/groups/default/monitors', body: { is_active } })),
    ],
  ])(
    'a monitor that still fails when it is enabled %s alerts again, and one that is valid does not',
    async (_, steps) => {
      const { world, receiver, incidents, passing, server, check } = await givenRecord(engine)
      const monitor = await createMonitor(world, NAME)
      const [disable, enable] = steps(monitor) as { path: string; body?: object }[]
      const switchTo = ({ path, body }: { path: string; body?: object }) =>
        world.call(path, { method: body ? 'PATCH' : 'POST', ...(body && { body }) })
      await check()
      server.set(NAME, 'A', ['192.0.2.9'])
      await check(6 * MINUTE_MS)
      await passing(MINUTE_MS)
      const sent = [`${NAME} A: Mismatch`]
      expect(receiver.titles()).toEqual(sent)

      await switchTo(disable!)
      await check()
      await passing(MINUTE_MS)
      sent.push(`${NAME} A: closed`)
      expect(receiver.titles()).toEqual(sent)

      await switchTo(enable!)
      await passing(MINUTE_MS)
      expect(receiver.titles()).toEqual(sent)
      await check()
      await passing(MINUTE_MS)
      sent.push(`${NAME} A: Mismatch`)
      expect(receiver.titles()).toEqual(sent)
      expect((await incidents()).map(({ resolved }: Json) => resolved === null)).toEqual([false, true])
      const { data: events } = (await world.call(`/monitors/${monitor}/events`)).body
      expect(events).toHaveLength(2)

      // Nothing more comes of the checks that follow.
      await check(6 * MINUTE_MS)
      await passing(MINUTE_MS)
      await switchTo(disable!)
      server.set(NAME, 'A', ['192.0.2.1'])
      await switchTo(enable!)
      await check()
      await passing(MINUTE_MS)
      expect(receiver.titles()).toEqual([...sent, `${NAME} A: closed`])
    },
  )
})

/** A record on a resolver and its name server, and checks of what is due. */
async function givenRecord(engine: Engine) {
  const alerting = await givenAlertReceiver(engine, { delay: 0 })
  const { db, clock } = alerting.world.deps
  const tree = await startDnsTree()
  const server = await tree.server()
  server.set(NAME, 'A', ['192.0.2.1'])
  const deps = {
    dns: givenDnsClient([server], { timeoutMs: 500, attempts: 2 }),
    clock: { ...patientClock, now: clock.now },
  }
  return {
    ...alerting,
    server,
    async check(afterMs = 0): Promise<void> {
      alerting.world.pass(afterMs)
      // A change is confirmed 30, 60 and 120 seconds after the first check.
      for (const ms of [0, 30_000, 60_000, 120_000]) {
        alerting.world.pass(ms)
        const claims = await claimChecks(db, { now: clock.now(), process: 1, limit: 100 })
        const { signal } = new AbortController()
        const load = monitorLoader(db, clock)
        const results = await Promise.all(claims.map((claim) => runCheck(claim, deps, load, signal)))
        await recordChecks(db, results, clock.now())
      }
      await alerting.evaluate()
    },
  }
}
