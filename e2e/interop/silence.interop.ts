import { readdir, readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { check } from './check.ts'
import { everyMonitorOf } from './records.ts'
import type { Server } from './servers/server.ts'
import { until } from './until.ts'
import { SERVERS, type ServerName, startWorld, type World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})

afterAll(() => world?.end())

const silentChecks = (server: ServerName) =>
  Promise.all(
    everyMonitorOf('www.zone.test').map(async (watched) => {
      const { verdict, outcome } = await check(watched, [world[server]], { timeoutMs: 250 })
      return `${verdict.state}: ${outcome.kind}`
    }),
  )

// NSD answers from processes of its own, which are not held with it.
test.concurrent.each(['knot', 'unbound', 'bind'] as const)('a frozen %s leads to TIMEOUT', async (server) => {
  await hold(world[server])
  try {
    expect(new Set(await silentChecks(server))).toEqual(new Set(['TIMEOUT: timeout']))
  } finally {
    process.kill(world[server].pid, 'SIGCONT')
  }
})

test.each(SERVERS)('a stopped %s leads to TIMEOUT', async (server) => {
  await world[server].stop()

  expect(new Set(await silentChecks(server))).toEqual(new Set(['TIMEOUT: unreachable']))
})

/** Resolves when every thread stands still: each could answer once more before. */
async function hold({ name, pid }: Server): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  const isHeld = async () => {
    const threads = await readdir(`/proc/${pid}/task`)
    const states = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/status`, 'utf8')))
    return states.every((state) => state.includes('State:\tT')) || undefined
  }
  await until(isHeld, { otherwise: () => `${name} does not stop` })
}
