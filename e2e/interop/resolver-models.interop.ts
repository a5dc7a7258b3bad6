import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import { askHost } from '../../simulator/dns/host.ts'
import { createResolver } from '../../simulator/dns/resolver.ts'
import { createRandom } from '../../simulator/random.ts'
import { type RealResolver, ROOT_IP, SOFTWARE, startResolver } from './resolver-models/real-resolvers.ts'
import { queryResolver, serveHosts } from './resolver-models/scripted-servers.ts'
import { type Ask, scriptedHosts, TIMELINES } from './resolver-models/timelines.ts'
import { createWorkspace, type Workspace } from './workspace.ts'

const hosts = scriptedHosts()
const random = createRandom(1)
let startedAt = Number.POSITIVE_INFINITY
let workspace: Workspace
let servers: { close(): Promise<unknown> }
let resolvers: RealResolver[]
const now = () => Math.max(0, systemClock.elapsed() - startedAt)

beforeAll(async () => {
  workspace = await createWorkspace()
  servers = await serveHosts(hosts, random, now)
  resolvers = await Promise.all(SOFTWARE.map((software) => startResolver(workspace, software)))
  startedAt = systemClock.elapsed() + 500
})

afterAll(async () => {
  await Promise.all((resolvers ?? []).map(({ stop }) => stop()))
  await servers?.close()
  await workspace?.remove()
})

describe.concurrent.each(SOFTWARE)('$name', ({ name: software, ip, policy }) => {
  test.concurrent.each(TIMELINES)('$title', async ({ asks }) => {
    const byIp = new Map(hosts.map((host) => [host.ip, host]))
    const ask = (address: string, question: { name: string; type: Ask['type'] & string }, time: number) =>
      askHost(byIp.get(address)!, { ...question, client: '' }, time, random)
    const model = createResolver({ policy, caches: 1, rootIps: [ROOT_IP] }, ask, createRandom(2))
    const real: string[] = []
    const expected: string[] = []
    for (const { at, name, type = 'A' } of asks) {
      await systemClock.sleep(Math.max(0, startedAt + at * 1_000 - systemClock.elapsed()))
      const sentAt = now()
      const answer = await queryResolver(ip, name, type, 9_000)
      const { response } = model.query({ name, type }, sentAt)
      expected.push(`${at} s: ${response.rcode} ${response.answer.map(textOf).join(', ')} ${stale(response.ede)}`)
      real.push(
        `${at} s: ${describeReal(
          answer,
          response.answer.map(({ ttl }) => ttl),
        )}`,
      )
    }
    expect({ software, answers: real }).toEqual({ software, answers: expected })
  })
})

const textOf = ({ name, type, ttl, values }: { name: string; type: string; ttl: number; values: readonly string[] }) =>
  `${name} ${ttl} ${type} ${values.join(' ')}`

const stale = (ede: readonly number[]) => (ede.includes(3) ? 'stale' : '')

/** TTLs count as equal if they differ by one second, because resolvers count whole seconds of the clock. */
function describeReal(answer: Awaited<ReturnType<typeof queryResolver>>, ttls: readonly number[]): string {
  if (!answer) return 'no answer'
  const records = answer.answer.map(({ name, type, ttl, value }, index) => {
    const expected = ttls[index]
    const isClose = expected !== undefined && Math.abs(expected - ttl) <= 1
    return `${name} ${isClose ? expected : ttl} ${type} ${value}`
  })
  return `${answer.rcode} ${records.join(', ')} ${stale(answer.ede)}`
}
