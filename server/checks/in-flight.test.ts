import { expect, test } from 'vitest'
import { claimDue } from '../queue/lease-queue.ts'
import { givenChecks } from '../testing/checks.ts'
import { onBothEngines } from '../testing/database.ts'
import { InFlight } from './in-flight.ts'

function begin(inProgress: InFlight, count: number, now: number, organization_id = 'org_a'): () => void {
  const checks = Array.from({ length: count }, (_, slot) => ({ slot, organization_id }))
  for (const check of checks) inProgress.start(check, now)
  return () => {
    for (const check of checks) inProgress.finish(check)
  }
}

test('those that go briskly are bounded, and one that ends makes capacity', () => {
  const inProgress = new InFlight()
  const end = begin(inProgress, 2_000, 0)
  expect(inProgress.capacity(0)).toBe(0)
  end()
  expect(inProgress.capacity(0)).toBe(2_000)
})

test('those that are slow do not take the capacity of the others, within a bound', () => {
  const inProgress = new InFlight()
  const ends = [0, 1, 2, 3].map((second) => {
    expect(inProgress.capacity(second * 1_000)).toBe(2_000)
    return begin(inProgress, 2_000, second * 1_000)
  })
  begin(inProgress, 1_500, 4_000)
  expect(inProgress.capacity(4_000)).toBe(500)
  begin(inProgress, 500, 4_000)
  expect(inProgress.capacity(60_000)).toBe(0)
  ends[0]!()
  expect(inProgress.capacity(60_000)).toBe(2_000)
})

test('nothing starts until enough capacity is free', () => {
  const inProgress = new InFlight()
  begin(inProgress, 1_900, 0)
  const end = begin(inProgress, 60, 0)
  expect(inProgress.capacity(0)).toBe(0)
  end()
  expect(inProgress.capacity(0)).toBe(100)
})

test('all are waited for', async () => {
  const inProgress = new InFlight()
  const [slow, brisk] = [begin(inProgress, 1, 0), begin(inProgress, 1, 5_000)]
  inProgress.capacity(5_000)
  let hasEnded = false
  const ended = inProgress.idle().then(() => {
    hasEnded = true
  })
  brisk()
  await new Promise(setImmediate)
  expect(hasEnded).toBe(false)
  slow()
  await ended
})

test('each organization may take half of what the others leave, of fast checks and of all', () => {
  const inProgress = new InFlight()
  begin(inProgress, 999, 0)
  expect(inProgress.full()).toEqual([])
  const end = begin(inProgress, 1, 0)
  expect(inProgress.full()).toEqual(['org_a'])
  begin(inProgress, 500, 0, 'org_b')
  expect(inProgress.full()).toEqual(['org_a', 'org_b'])
  end()
  expect(inProgress.full()).toEqual(['org_a'])

  for (let second = 1; second <= 5; second++) {
    inProgress.capacity(second * 1_000)
    expect(inProgress.full()).toEqual([])
    begin(inProgress, 900, second * 1_000)
  }
  inProgress.capacity(6_000)
  expect(inProgress.full()).toEqual(['org_a'])
})

onBothEngines('checks of several organizations', (fresh) => {
  test('an organization with many checks in progress comes after the others', async () => {
    const db = await fresh()
    const crowd = await givenChecks(db)
    for (let count = 0; count < 5; count++)
      await crowd.monitor({ full_domain: `w${count}.example.com`, record_type: 'A', expected_value: '192.0.2.1' })
    const single = await givenChecks(db)
    const id = await single.monitor({ record_type: 'A', expected_value: '192.0.2.1' })
    const options = { now: Date.UTC(2027, 0), process: 1, limit: 3 }
    const claims = await claimDue(db, 'due_checks', { ...options, without: [crowd.organizationId] })
    expect(claims.map(({ monitor_id }) => monitor_id)).toEqual([id])
  })
})
