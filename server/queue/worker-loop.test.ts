import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { LoopHealth } from '../loop-health.ts'
import { onBothEngines } from '../testing/database.ts'
import { claimDue } from './lease-queue.ts'
import { createWakeUps, WakeUp } from './wake-up.ts'
import { runWorker, type Worker } from './worker-loop.ts'

const NOW = 1_000
const IDLE = { restMs: 0, isIdle: true }

onBothEngines('the loop of a worker', (fresh) => {
  test('waits until the next row falls due, at most two seconds, and not long for one that it cannot claim', async () => {
    const db = await fresh()
    const { run, slept } = givenWorker(db, async () => IDLE)
    await run({ sleeps: 1 })
    await insertDue(db, 1, NOW + 9_000)
    await run({ sleeps: 1 })
    await insertDue(db, 2, NOW + 700)
    await run({ sleeps: 1 })
    await insertDue(db, 3, NOW - 1)
    await run({ sleeps: 1 })
    expect(slept).toEqual([2_000, 2_000, 700, 75])
  })

  test('does not wait after a signal that came during the pass', async () => {
    let passes = 0
    const { run, slept } = givenWorker(await fresh(), async (wakeUp) => {
      if (++passes === 1) wakeUp.send()
      return IDLE
    })
    await run({ sleeps: 1 })
    expect([passes, slept]).toEqual([2, [2_000]])
  })

  test('makes due again, after a failure, what it claims without knowing of it', async () => {
    const db = await fresh()
    for (const slot of [1, 2]) await insertDue(db, slot, 0)
    await claimDue(db, 'due_checks', { now: NOW, process: 1, limit: 9 })
    let passes = 0
    const due: number[] = []
    const pass = async () => {
      if (++passes === 1) throw new Error('The connection broke while the claim was committed.')
      const claims = await claimDue(db, 'due_checks', { now: NOW, process: 1, limit: 9 })
      due.push(...claims.map(({ slot }) => slot))
      return IDLE
    }
    const { run, logged } = givenWorker(db, pass, new Set([1]))
    await run({ sleeps: 2 })
    expect(due).toEqual([2])
    expect(logged.join()).toContain('The pass failed.')
  })
})

onBothEngines('the health of a loop', (fresh) => {
  test('only passes that complete count as work', async () => {
    let isBroken = true
    const { run, loopHealth } = givenWorker(await fresh(), async () => {
      if (isBroken) throw new Error('permission denied for table monitors')
      return IDLE
    })
    const hanging = () => loopHealth.hangingLoops(60_000, 30_000)
    await run({ sleeps: 40 }) // each sleep is a second
    expect([hanging(), loopHealth.runningLoops(40_000, 30_000)]).toEqual([['test'], []])
    isBroken = false
    await run({ sleeps: 50 })
    expect(hanging()).toEqual([])
  })
})

test('a loop whose results cannot be recorded does not run, until one is recorded', () => {
  const health = new LoopHealth()
  health.begin('checker', 0)
  health.notRecorded('checker', 5_000)
  health.notRecorded('checker', 39_000)
  health.report('checker', 40_000)
  expect(health.hangingLoops(40_000, 30_000)).toEqual(['checker'])
  health.recorded('checker')
  expect([health.hangingLoops(40_000, 30_000), health.runningLoops(40_000, 30_000)]).toEqual([[], ['checker']])
})

test('signals to other processes are paced: the first at once, those of the next moment as one', async () => {
  const timers: (() => void)[] = []
  const sleep = () => new Promise<void>((resolve) => timers.push(resolve))
  const forwarded: string[] = []
  const wakeUps = createWakeUps((topic) => void forwarded.push(topic), { now: () => 0, elapsed: () => 0, sleep })
  for (let count = 0; count < 5; count++) wakeUps.checks.send()
  wakeUps.mails.send()
  expect(forwarded).toEqual(['checks', 'mails'])
  for (let count = 0; count < 2; count++) {
    for (const end of timers.splice(0)) end()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(forwarded).toEqual(['checks', 'mails', 'checks'])
})

/** `run` ends the loop in its last sleep. */
function givenWorker(db: Database, pass: (wakeUp: WakeUp) => ReturnType<Worker['pass']>, held = new Set<unknown>()) {
  const slept: number[] = []
  const logged: string[] = []
  const loopHealth = new LoopHealth()
  let elapsed = 0
  const log = pino({ level: 'error' }, { write: (line: string) => void logged.push(line) })
  const run = async ({ sleeps }: { sleeps: number }) => {
    const stop = new AbortController()
    const clock: Clock = {
      now: () => NOW,
      elapsed: () => elapsed,
      sleep: async (ms) => {
        slept.push(ms)
        elapsed += ms
        if (--sleeps === 0) stop.abort()
      },
    }
    const wakeUp = new WakeUp()
    const deps = { db, clock, log, loopHealth, process: 1 }
    await runWorker(deps, stop.signal, {
      name: 'test',
      table: 'due_checks',
      wakeUp,
      failure: 'The pass failed.',
      pass: () => pass(wakeUp),
      repair: async () => {},
      held: () => held,
    })
  }
  return { run, slept, logged, loopHealth }
}

async function insertDue(db: Database, slot: number, due_at: number): Promise<void> {
  const row = { slot, monitor_id: `mon_${slot}`, organization_id: 'org_1', owner: 'www.example.com', record_type: 'A' }
  await db
    .insertInto('due_checks')
    .values({ ...row, due_at, is_exact_match: 1, frequency: 5, streak: 0, inconclusive_count: 0 })
    .execute()
}
