import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import type { Clock } from '../clock.ts'
import { onBothEngines } from '../testing/database.ts'
import { LiveStreams } from './streams.ts'

/** Streams with a clock that moves when nobody has anything to do. */
async function givenStreams(fresh: () => ReturnType<typeof import('../testing/database.ts')['freshDatabase']>) {
  let passed = 0
  const clock: Clock = {
    now: () => 1_000_000 + passed,
    elapsed: () => passed,
    sleep: async (ms) => {
      await new Promise(setImmediate)
      passed += ms
    },
  }
  const db = await fresh()
  const live = new LiveStreams({ db, replica: undefined, clock, log: pino({ level: 'silent' }) })
  onTestFinished(() => live.close())
  return { live, db, elapsed: () => passed }
}

onBothEngines('open streams', (fresh) => {
  test('beat at once and every 5 seconds while nothing happens', async () => {
    const { live, elapsed } = await givenStreams(fresh)
    const out = live.open({ organizationId: 'org_none', who: 'me', isAllowed: async () => true })
    const beats: number[] = []
    for await (const part of out) {
      if (String(part).startsWith('event: beat\n')) beats.push(elapsed())
      if (beats.length === 4) break
    }
    expect(beats.map((at, place) => at - (beats[place - 1] ?? 0))).toEqual([0, 5_000, 5_000, 5_000])
  })

  test('do not beat while the database does not answer', async () => {
    const { live, db, elapsed } = await givenStreams(fresh)
    const out = live.open({ organizationId: 'org_none', who: 'me', isAllowed: async () => true })
    const beats: number[] = []
    const read = async () => {
      for await (const part of out) if (String(part).startsWith('event: beat\n')) beats.push(elapsed())
    }
    void read()
    while (beats.length < 2) await new Promise(setImmediate)
    await db.destroy()
    const until = elapsed() + 60_000
    while (elapsed() < until) await new Promise(setImmediate)
    expect(beats.at(-1)).toBeLessThanOrEqual(until - 55_000)
  })

  test('end within 5 seconds when the caller is not welcome any more', async () => {
    const { live, elapsed } = await givenStreams(fresh)
    let isAllowed = true
    const out = live.open({ organizationId: 'org_none', who: 'me', isAllowed: async () => isAllowed })
    const stays = live.open({ organizationId: 'org_none', who: 'you', isAllowed: async () => true })
    isAllowed = false
    for await (const _ of out);
    expect(elapsed()).toBeLessThanOrEqual(5_000)
    expect(stays.destroyed).toBe(false)
  })

  test('of a page that does not read are cut off', async () => {
    const { live } = await givenStreams(fresh)
    const out = live.open({ organizationId: 'org_none', who: 'me', isAllowed: async () => true })
    out.push('x'.repeat(70_000))
    await new Promise((resolve) => out.once('close', resolve))
    expect(out.destroyed).toBe(true)
  })

  test('of one organization leave streams for others, with however many users it opens them', async () => {
    const { live } = await givenStreams(fresh)
    const open = (organizationId: string, who: string) =>
      live.open({ organizationId, who, isAllowed: async () => true })
    for (let number = 0; number < 100; number++) open('org_1', `user_${number}`)
    expect(() => open('org_1', 'user_100')).toThrow('Your organization has 100 pages open with live updates')
    expect(open('org_2', 'user_1').destroyed).toBe(false)
  })
})
