import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import type { Clock } from '../../clock.ts'
import { onBothEngines } from '../../testing/database.ts'
import { LiveStreams } from './streams.ts'

/** Streams with a clock that moves when nobody has anything to do. */
async function givenStreams(fresh: () => ReturnType<typeof import('../../testing/database.ts')['freshDatabase']>) {
  let passed = 0
  const clock: Clock = {
    now: () => 1_000_000 + passed,
    elapsed: () => passed,
    sleep: async (ms) => {
      await new Promise(setImmediate)
      passed += ms
    },
  }
  const live = new LiveStreams({ db: await fresh(), clock, log: pino({ level: 'silent' }) })
  onTestFinished(() => live.close())
  return { live, elapsed: () => passed }
}

onBothEngines('open streams', (fresh) => {
  test('beat every 15 seconds while nothing happens', async () => {
    const { live, elapsed } = await givenStreams(fresh)
    const out = live.open({ organizationId: 'org_none', who: 'me', isWelcome: async () => true })
    const beats: number[] = []
    for await (const part of out) {
      if (String(part).startsWith(':')) beats.push(elapsed())
      if (beats.length === 3) break
    }
    expect(beats.map((at, place) => at - (beats[place - 1] ?? 0))).toEqual([15_000, 15_000, 15_000])
  })

  test('end within 30 seconds when the caller is not welcome any more', async () => {
    const { live, elapsed } = await givenStreams(fresh)
    let isWelcome = true
    const out = live.open({ organizationId: 'org_none', who: 'me', isWelcome: async () => isWelcome })
    const stays = live.open({ organizationId: 'org_none', who: 'you', isWelcome: async () => true })
    isWelcome = false
    for await (const _ of out);
    expect(elapsed()).toBeLessThanOrEqual(31_000)
    expect(stays.destroyed).toBe(false)
  })

  test('of a page that does not read are cut off', async () => {
    const { live } = await givenStreams(fresh)
    const out = live.open({ organizationId: 'org_none', who: 'me', isWelcome: async () => true })
    out.push('x'.repeat(70_000))
    await new Promise((resolve) => out.once('close', resolve))
    expect(out.destroyed).toBe(true)
  })
})
