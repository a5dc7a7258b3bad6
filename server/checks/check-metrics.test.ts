import { expect, test } from 'vitest'
import type { Metrics } from '../metrics/metrics.ts'
import { givenChecks } from '../testing/checks.ts'
import { freshDatabase } from '../testing/database.ts'

const NAME = 'www.example.com'
const CANARY = 'canary.example.org'

/** The counts above 0 by the value of their one label. */
const counted = (metrics: Metrics, name: string) => {
  const { values } = metrics.collect().find((family) => family.name === name)!
  const above = values.filter(({ value }) => value > 0)
  return Object.fromEntries(above.map(({ labels, value }) => [Object.values(labels)[0], value]))
}

test('checks are counted by their outcome, and those that needed more than one query by the reason', async () => {
  const world = await givenChecks(await freshDatabase('sqlite'), { resolvers: 2, canary: CANARY })
  const { set, each, servers, monitor, check, metrics } = world
  const outcomes = () => counted(metrics, 'zonewatch_checks_total')
  const reasons = () => counted(metrics, 'zonewatch_confirmations_total')
  set(CANARY, 'A', ['192.0.2.200'])
  set(NAME, 'A', ['192.0.2.1'])
  await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
  await check({ afterMs: 0 })
  expect([outcomes(), reasons()]).toEqual([{ verdict: 1 }, { first_check: 1 }])

  await check()
  expect([outcomes(), reasons()]).toEqual([{ verdict: 1, unchanged: 1 }, { first_check: 1 }])

  set(NAME, 'A', ['192.0.2.2'])
  await check()
  expect([outcomes(), reasons()]).toEqual([
    { verdict: 2, unchanged: 1 },
    { first_check: 1, changed: 1 },
  ])

  servers[0]!.set(NAME, 'A', ['192.0.2.3'])
  while (!('inconclusive' in outcomes())) await check()
  set(NAME, 'A', ['192.0.2.4'])
  await check({ afterMs: 121_000 })
  expect(reasons()).toMatchObject({ inconclusive: 1 })

  each((server) => server.drop('*'))
  while (!('withheld' in outcomes())) await check()
  expect(counted(metrics, 'zonewatch_events_total')).toEqual({ undefined: 3 })
})
