import type { VirtualClock } from './clock.ts'
import { askHost, isDuring } from './dns/host.ts'
import type { Question, Response } from './dns/message.ts'
import { MODELS } from './dns/policies.ts'
import { createResolver, type Resolver } from './dns/resolver.ts'
import type { Random } from './random.ts'
import { type Internet, ROOT_IPS } from './world/internet.ts'
import { OWNER, sampleValue, type World, ZONE } from './world/world.ts'

/** The number of the forged value, and the address that a captive portal gives to every name. */
const FORGED = 251
const CAPTIVE = '10.99.99.99'
const LATENCY_MS = 30

export type Address = { ip: string; port: number }

/** What the machine of the product reaches in a world. */
export type Network = {
  /** The configured resolvers. */
  resolvers: readonly Address[]
  /** How many queries were sent. */
  sent(): number
  /** From now on, more queries than this throw: a check that never ends. */
  allow(queries: number): void
  /** The response to a query that is sent now, and how long it takes. Undefined if none comes within the time. */
  receive(ip: string, question: Question, checkingDisabled: boolean, timeoutMs: number): Received | undefined
}
export type Received = { response: Response; ms: number }

export function createNetwork(world: World, internet: Internet, clock: VirtualClock, random: Random): Network {
  const addresses = world.resolvers.map(({ isLocal }, index): Address => {
    return { ip: isLocal ? `192.168.1.${index + 1}` : `9.9.9.${index + 1}`, port: 53 }
  })
  const resolvers = world.resolvers.map((_, index) => resolverOf(index))
  const indexOf = new Map(addresses.map(({ ip }, index) => [ip, index]))
  const poison = [...world.poisoned]
  const recent = new Map<string, { second: number; count: number }>()
  let sent = 0
  let maxSent = Number.POSITIVE_INFINITY

  function resolverOf(index: number): Resolver {
    const { model, caches, isPopular, isLocal, region, rewritesNxdomain } = world.resolvers[index]!
    const policy = { ...MODELS[model]!, ...(rewritesNxdomain ? { rewritesNxdomain: '203.0.113.222' } : {}) }
    const privateZones = world.privateZone ? [{ zone: ZONE, ips: internet.privateIps }] : []
    const ask = (ip: string, question: Question, time: number) =>
      isLocal && isDuring(world.outages, time) ? undefined : askServer(ip, question, time, region)
    return createResolver({ policy, caches, isPopular, privateZones, rootIps: ROOT_IPS }, ask, random)
  }

  function askServer(ip: string, question: Question, time: number, client: string): Response | undefined {
    const host = internet.hosts.get(ip)
    if (!host) return undefined
    if (host.perSecond !== undefined && isLimited(ip, host.perSecond, time)) return undefined
    return askHost(host, { ...question, client }, time, random)
  }

  /** Response rate limiting: what is more than the limit in a second gets no response. */
  function isLimited(ip: string, limit: number, time: number): boolean {
    const second = Math.floor(time / 1_000)
    const counted = recent.get(ip)
    const count = counted?.second === second ? counted.count + 1 : 1
    recent.set(ip, { second, count })
    return count > limit
  }

  function receive(ip: string, question: Question, checkingDisabled: boolean, timeoutMs: number): Received | undefined {
    sent += 1
    if (sent > maxSent) throw new Error('a check sends queries without end')
    const time = clock.elapsed()
    const index = indexOf.get(ip)
    const outage = world.outages.find(({ from, to }) => time >= from && time < to)
    const isLocal = index === undefined ? ip.startsWith('10.') : world.resolvers[index]!.isLocal
    if (outage && (outage.reach === 'all' || !isLocal)) return undefined
    if (isDuring(world.captive, time)) return captivePortal(question)
    if (world.loss > 0 && random.chance(world.loss)) return undefined
    if (index === undefined) {
      const response = isDuring(world.closed, time) ? undefined : askServer(ip, question, time, '')
      return response && { response, ms: LATENCY_MS }
    }
    const { status } = world.resolvers[index]!
    if (status === 'silent') return undefined
    if (status === 'lies') return { response: NXDOMAIN, ms: LATENCY_MS }
    if (poison.length > 0 && time >= poison[0]!) poisonCache(resolvers[index]!, time)
    const resolved = resolvers[index]!.query(question, time, checkingDisabled)
    return resolved.ms > timeoutMs ? undefined : resolved
  }

  function poisonCache(resolver: Resolver, time: number): void {
    poison.shift()
    const { recordType: type, ttl } = world
    const name = type === 'NS' ? ZONE : OWNER
    resolver.poison({ name, type, ttl: Math.max(ttl, 60), values: [sampleValue(type, FORGED)] }, time)
  }

  return {
    resolvers: addresses,
    sent: () => sent,
    allow(queries) {
      maxSent = sent + queries
    },
    receive,
  }
}

const NXDOMAIN: Response = { rcode: 'NXDOMAIN', aa: false, answer: [], authority: [], additional: [], ede: [] }

function captivePortal({ name, type }: Question): Received {
  const answer = type === 'A' ? [{ name, type, ttl: 60, values: [CAPTIVE] }] : []
  return { response: { ...NXDOMAIN, rcode: 'NOERROR', answer }, ms: LATENCY_MS }
}
