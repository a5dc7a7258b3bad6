import type { DnsClient, QueryOptions } from '#server/dns/client.ts'
import type { Exchange, Outcome, Question as ProductQuestion, Reply, ServerAddress } from '#server/dns/outcome.ts'
import type { VirtualClock } from './clock.ts'
import { askHost, isDuring } from './dns/host.ts'
import type { Question, RecordType, Response, RRset } from './dns/message.ts'
import { MODELS } from './dns/policies.ts'
import { createResolver, type Resolver } from './dns/resolver.ts'
import type { Random } from './random.ts'
import { type Internet, ROOT_IPS } from './world/internet.ts'
import { sampleValue, type World, ZONE } from './world/world.ts'

/** Forged records, and the address that a captive portal gives to every name. */
export const FORGED = 251
const CAPTIVE = '10.99.99.99'
const LATENCY_MS = 30

/** The product's DNS client, over the servers of a world instead of sockets. */
export type SimulatedDns = { client: DnsClient; sent(): number; onQuery?: (text: string) => void }

export function createSimulatedDns(
  world: World,
  internet: Internet,
  clock: VirtualClock,
  random: Random,
): SimulatedDns {
  const addresses = world.resolvers.map(({ isLocal }, index): ServerAddress => {
    return { ip: isLocal ? `192.168.1.${index + 1}` : `9.9.9.${index + 1}`, port: 53 }
  })
  const resolvers = world.resolvers.map((_, index) => resolverOf(index))
  const indexOf = new Map(addresses.map(({ ip }, index) => [ip, index]))
  const poison = [...world.poisoned]
  const recent = new Map<string, { second: number; count: number }>()
  let nextFirst = 0
  let sent = 0
  const dns: SimulatedDns = {
    client: { servers: addresses, query, statuses: () => [], close: async () => {} },
    sent: () => sent,
  }

  function resolverOf(index: number): Resolver {
    const { model, caches, isPopular, isLocal, rewritesNxdomain } = world.resolvers[index]!
    const policy = { ...MODELS[model]!, ...(rewritesNxdomain ? { rewritesNxdomain: '203.0.113.222' } : {}) }
    const privateZones = world.privateZone ? [{ zone: ZONE, ips: internet.privateIps }] : []
    const ask = (ip: string, question: Question, time: number) =>
      isLocal && isDuring(world.outages, time) ? undefined : askServer(ip, question, time)
    return createResolver({ policy, caches, isPopular, privateZones, rootIps: ROOT_IPS }, ask, random)
  }

  function askServer(ip: string, question: Question, time: number): Response | undefined {
    const host = internet.hosts.get(ip)
    if (!host) return undefined
    if (host.perSecond !== undefined && isLimited(ip, host.perSecond, time)) return undefined
    return askHost(host, { ...question, client: '' }, time, random)
  }

  /** Response rate limiting: what is more than the limit in a second gets no response. */
  function isLimited(ip: string, limit: number, time: number): boolean {
    const second = Math.floor(time / 1_000)
    const counted = recent.get(ip)
    const count = counted?.second === second ? counted.count + 1 : 1
    recent.set(ip, { second, count })
    return count > limit
  }

  /** `undefined`: no response. */
  function receive(ip: string, question: Question, checkingDisabled: boolean, timeoutMs: number) {
    const time = clock.elapsed()
    const index = indexOf.get(ip)
    const outage = world.outages.find(({ from, to }) => time >= from && time < to)
    const isLocal = index === undefined ? ip.startsWith('10.') : world.resolvers[index]!.isLocal
    if (outage && (outage.reach === 'all' || !isLocal)) return undefined
    if (isDuring(world.captive, time)) return captivePortal(question)
    if (world.loss > 0 && random.chance(world.loss)) return undefined
    if (index === undefined) {
      const response = isDuring(world.closed, time) ? undefined : askServer(ip, question, time)
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
    resolver.poison({ name: `www.${ZONE}`, type, ttl: Math.max(ttl, 60), values: [sampleValue(type, FORGED)] }, time)
  }

  async function query(asked: ProductQuestion, options: QueryOptions = {}): Promise<Reply> {
    const { recursionDesired = true, checkingDisabled = false, attempts = 3, accept, signal } = options
    const timeoutMs = options.timeoutMs ?? 2_000
    const question: Question = { name: asked.name, type: asked.type as RecordType }
    const list = options.servers ?? rotated()
    const candidates = [...list]
    const evidence: Exchange[] = []
    const failures: Outcome[] = []
    let remainingMs = Math.min(options.totalTimeoutMs ?? Number.POSITIVE_INFINITY, timeoutMs * attempts)
    for (let attempt = 0; attempt < attempts && remainingMs > 0; attempt++) {
      const server = candidates.shift()
      if (!server) break
      const waitMs = Math.min(timeoutMs, remainingMs)
      sent += 1
      const received = receive(server.ip, question, checkingDisabled, waitMs)
      const ms = received?.ms ?? waitMs
      const waiting = received ? clock.pass(ms) : clock.sleep(ms, signal)
      if (waiting) await waiting
      signal?.throwIfAborted()
      remainingMs -= ms
      const exchange = toExchange(server, question, received?.response, ms, recursionDesired)
      evidence.push(exchange)
      dns.onQuery?.(textOf(exchange, question, checkingDisabled))
      const outcome = exchange.outcome!
      const isFinal = outcome.kind === 'referral' ? !recursionDesired || outcome.chain.length > 0 : isUsable(outcome)
      if (accept ? accept(exchange) : isFinal) return { outcome, evidence }
      failures.push(outcome)
      if (outcome.kind === 'timeout') candidates.push(server)
    }
    const reported = failures.find(({ kind }) => kind === 'failure') ?? failures.find(({ kind }) => kind === 'referral')
    return { outcome: reported ?? { kind: 'timeout' }, evidence }
  }

  function rotated(): ServerAddress[] {
    const first = nextFirst++ % addresses.length
    return [...addresses.slice(first), ...addresses.slice(0, first)]
  }

  return dns
}

const NXDOMAIN: Response = { rcode: 'NXDOMAIN', aa: false, answer: [], authority: [], additional: [], ede: [] }

function captivePortal({ name, type }: Question): { response: Response; ms: number } {
  const answer = type === 'A' ? [{ name, type, ttl: 60, values: [CAPTIVE] }] : []
  return { response: { ...NXDOMAIN, rcode: 'NOERROR', answer }, ms: LATENCY_MS }
}

function isUsable({ kind }: Outcome): boolean {
  return kind === 'answer' || kind === 'nodata' || kind === 'nxdomain' || kind === 'cname_loop'
}

// What the product's client would read from the packet

function toExchange(
  server: ServerAddress,
  question: Question,
  response: Response | undefined,
  ms: number,
  isRecursive: boolean,
): Exchange {
  const address = `${server.ip}:${server.port}`
  const base = { server: address, transport: 'udp' as const, ms }
  if (!response) return { ...base, rcode: null, flags: [], ede: [], outcome: { kind: 'timeout' } }
  const ede = response.ede.map((code) => ({ code, text: '' }))
  const flags = [...(response.aa ? ['aa'] : []), ...(isRecursive ? ['rd', 'ra'] : [])]
  return { ...base, rcode: response.rcode, flags, ede, outcome: toOutcome(response, question, ede) }
}

function toOutcome(response: Response, { name, type }: Question, ede: { code: number; text: string }[]): Outcome {
  const { rcode, answer, authority } = response
  if (rcode !== 'NOERROR' && rcode !== 'NXDOMAIN') return { kind: 'failure', rcode, ede }
  const links = type === 'CNAME' ? [] : answer.filter((rrset) => rrset.type === 'CNAME')
  const chain = links.map(({ name, values, ttl }) => ({ name, target: values[0]!, ttl }))
  const rrset = answer.find((one) => one.type === type && (type !== 'CNAME' || one.name === name))
  if (rrset) return { kind: 'answer', rrset: toRRset(rrset), chain }
  if (rcode === 'NXDOMAIN') return { kind: 'nxdomain', chain }
  const isDenial = authority.some((one) => one.type === 'SOA')
  if (chain.length > 0 && response.aa && !isDenial)
    return { kind: 'referral', chain, zone: undefined, nameServers: [], glue: [], ttl: 0 }
  const ns = authority.find((one) => one.type === 'NS')
  if (!isDenial && !response.aa && ns) return { kind: 'referral', chain, ...delegationOf(ns, response) }
  return { kind: 'nodata', chain }
}

function delegationOf(ns: RRset, { additional }: Response) {
  const glue = additional.flatMap(({ name, type, values }) => (type === 'A' ? values.map((ip) => ({ name, ip })) : []))
  return { zone: ns.name, nameServers: [...ns.values], glue, ttl: ns.ttl }
}

function toRRset({ name, type, ttl, values }: RRset) {
  return { name, type: type as ProductQuestion['type'], ttl, values: [...values] }
}

function textOf({ server, outcome, ede }: Exchange, { name, type }: Question, checkingDisabled: boolean): string {
  const result =
    outcome?.kind === 'answer'
      ? `${outcome.rrset.values.join(' ')} TTL ${outcome.rrset.ttl}`
      : outcome?.kind === 'failure'
        ? outcome.rcode
        : outcome?.kind === 'referral'
          ? `referral to ${outcome.nameServers.join(' ')}`
          : outcome?.kind
  const errors = ede.length > 0 ? ` EDE ${ede.map(({ code }) => code).join(' ')}` : ''
  return `${server} ${name} ${type}${checkingDisabled ? ' CD' : ''}: ${result}${errors}`
}
