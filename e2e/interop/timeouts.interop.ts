import { readdir, readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { check } from './check.ts'
import { type DnsNetwork, SERVERS, type ServerName, startDnsNetwork } from './dns-network.ts'
import { monitorsOfEveryType } from './records.ts'
import type { Server } from './servers/server.ts'
import { until } from './until.ts'

let network: DnsNetwork

beforeAll(async () => {
  network = await startDnsNetwork()
})

afterAll(() => network?.end())

const silentChecks = (server: ServerName) =>
  Promise.all(
    monitorsOfEveryType('www.zone.test').map(async (monitor) => {
      const { verdict, outcome } = await check(monitor, [network[server]], { timeoutMs: 250 })
      return `${verdict.state}: ${outcome.kind}`
    }),
  )

// NSD answers from processes of its own, which are not held with it.
test.concurrent.each(['knot', 'unbound', 'bind'] as const)('a frozen %s leads to TIMEOUT', async (server) => {
  await hold(network[server])
  try {
    expect(new Set(await silentChecks(server))).toEqual(new Set(['TIMEOUT: timeout']))
  } finally {
    process.kill(network[server].pid, 'SIGCONT')
  }
})

test.each(SERVERS)('a stopped %s leads to TIMEOUT', async (server) => {
  await network[server].stop()

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
  await until(isHeld, { failure: () => `${name} does not stop` })
}
