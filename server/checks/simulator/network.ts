import type { NetworkState } from '#contract/server.ts'
import type { Exchange, Outcome, Reply, ServerAddress } from '../../dns/outcome.ts'
import { formatServer } from '../../dns/server-address.ts'
import type { NameServerReply, Query } from '../check-state.ts'
import type { Random } from './random.ts'
import { hostOf, isWithin, type NameServer, type Period, periodAt, type World } from './world.ts'

export const OWNER = 'www.example.test'
const ZONE = 'example.test'
const FORGED = '203.0.113.66'
const CAPTIVE = '10.0.0.1'
const RESOLVER_MS = 20
const SERVER_MS = 40
const TIMEOUT_MS = 2_000
const ZONE_TIMEOUT_MS = 1_000
const ATTEMPTS = 3

type TimedResult = { ms: number } & (
  | { reply: Reply }
  | { nameServerReply: NameServerReply }
  | { nsReply: NameServerReply }
  | { rootProblem: 'root_servers_unreachable' | undefined }
  | { network: NetworkState }
)

/** Simulates the servers of a world, resolvers with caches and name servers with machines, in virtual time. */
export function createNetwork(world: World, random: Random) {
  const resolvers = world.resolvers.map((_, index): ServerAddress => ({ ip: `192.0.2.${201 + index}`, port: 53 }))
  const caches = world.resolvers.map(({ caches: count }) =>
    Array.from({ length: count }, () => ({ until: -1 }) as CacheEntry),
  )
  const lastServedAt = new Map<string, number>()
  const answers = new Map<string, Outcome>()
  const names = world.nameServers.map(({ name }) => name)
  const poison = [...world.poisoned]
  let firstQueries = 0
  let sentQueries = 0

  const forged = world.recordType === 'CNAME' ? hostOf(FORGED) : FORGED
  const captive = world.recordType === 'CNAME' ? hostOf(CAPTIVE) : CAPTIVE

  function answerOf(values: readonly string[], chain: readonly string[] = []): Outcome {
    const key = values.length < 5 ? [...values, ...chain].join() : undefined
    const cached = key && answers.get(key)
    if (cached) return cached
    const answer = newAnswer(world, values, chain)
    if (key && answers.size < 500) answers.set(key, answer)
    return answer
  }

  /** The answer of one of the name server's machines; undefined if it does not respond. */
  function queryNameServer(server: NameServer, time: number): Outcome | undefined {
    if (server.status === 'silent') return undefined
    if (server.status === 'lame') return LAME
    const delay = server.delays[server.delays.length > 1 ? random.below(server.delays.length) : 0]!
    const latest = periodOf(world.periods, time, delay)
    const isFailing = latest.kind === 'dead' || latest.kind === 'broken'
    const period = server.status === 'stale' && !isFailing ? world.periods[0]! : latest
    const isRegional = server.region !== undefined && (period.kind === 'records' || period.kind === 'bogus')
    const outcome = isRegional ? answerOf([server.region!]) : fromPeriod(period, time)
    return isUnreadable(server, outcome) ? undefined : outcome
  }

  /** Whether the answer is truncated and the server cannot be reached over TCP. */
  function isUnreadable(server: { tcp?: boolean }, outcome: Outcome | undefined): boolean {
    return world.truncates === true && server.tcp === false && outcome?.kind === 'answer'
  }

  function fromPeriod(period: Period, time: number): Outcome | undefined {
    switch (period.kind) {
      case 'dead':
        return undefined
      case 'broken':
        return SERVFAIL
      case 'nxdomain':
        return NXDOMAIN
      case 'nodata':
        return NODATA
      case 'bogus':
      case 'records': {
        const values = drawValues(period, random)
        for (const value of values) lastServedAt.set(value, time)
        return answerOf(values, period.chain)
      }
    }
  }

  function isLost(): boolean {
    return world.loss > 0 && random.chance(world.loss)
  }

  /** The answer of one resolver; undefined if it does not respond. */
  function queryResolver(index: number, time: number, isUnvalidated: boolean): Outcome | undefined {
    const { status } = world.resolvers[index]!
    if (status === 'silent' || isWithin(world.outages, time)) return undefined
    if (isWithin(world.captive, time)) return answerOf([captive])
    if (status === 'lies') return NXDOMAIN
    const period = periodAt(world.periods, time)
    const resolverCaches = caches[index]!
    const cache = resolverCaches[resolverCaches.length > 1 ? random.below(resolverCaches.length) : 0]!
    const isValid = time < cache.until && cache.outcome?.kind === 'answer'
    if (period.kind === 'bogus' && !isUnvalidated && !isValid) return BOGUS
    if (time < cache.until) return withTtl(cache.outcome!, cache.until - time)
    const outcome = world.geo === undefined || period.kind !== 'records' ? resolve(time) : answerOf([world.geo])
    if (poison.length > 0 && time >= poison[0]!) {
      poison.shift()
      Object.assign(cache, { outcome: answerOf([forged]), until: time + Math.max(world.ttl, 60) * 1_000 })
      return cache.outcome
    }
    if (outcome === undefined) return SERVFAIL
    if (isUnvalidated) return outcome // not cached for queries with validation
    const seconds = outcome.kind === 'answer' ? world.ttl : outcome.kind === 'failure' ? 5 : 60
    Object.assign(cache, { outcome, until: time + seconds * 1_000 })
    return outcome
  }

  function withTtl(outcome: Outcome, remainingMs: number): Outcome {
    // The rules use the remaining TTL only if the name servers cannot be queried.
    if (world.roots || outcome.kind !== 'answer') return outcome
    return { ...outcome, rrset: { ...outcome.rrset, ttl: Math.ceil(remainingMs / 1_000) } }
  }

  /** Queries one name server after the other, like a resolver. */
  function resolve(time: number): Outcome | undefined {
    const start = random.below(world.nameServers.length)
    let failure: Outcome | undefined
    for (let index = 0; index < world.nameServers.length; index++) {
      const outcome = queryNameServer(world.nameServers[(start + index) % world.nameServers.length]!, time)
      if (outcome && outcome.kind !== 'failure') return outcome
      failure = outcome ?? failure
    }
    return failure && SERVFAIL
  }

  function queryResolvers(
    order: readonly number[],
    time: number,
    isUnvalidated = false,
    attempts = ATTEMPTS,
  ): { reply: Reply; ms: number } {
    const evidence: Exchange[] = []
    let ms = 0
    let outcome: Outcome = TIMEOUT
    for (let attempt = 0; attempt < attempts; attempt++) {
      const index = order[attempt % order.length]!
      sentQueries += 1
      const received = isLost() ? undefined : queryResolver(index, time, isUnvalidated)
      const answer = isUnreadable(world.resolvers[index]!, received) ? undefined : received
      ms += answer ? RESOLVER_MS : TIMEOUT_MS
      if (answer || outcome.kind === 'timeout') outcome = answer ?? TIMEOUT
      evidence.push(evidenceOf(formatServer(resolvers[index]!), outcome, answer ? RESOLVER_MS : TIMEOUT_MS))
      if (answer && answer.kind !== 'failure') break
      if (answer && attempt + 1 >= order.length) break
    }
    return { reply: { outcome, evidence }, ms }
  }

  function queryZone(first: number, time: number): { nameServerReply: NameServerReply; ms: number } {
    const evidence: Exchange[] = []
    const { nameServers } = world
    let ms = 0
    let outcome: Outcome = TIMEOUT
    let nameServer: string | undefined
    let isAllLame = true
    for (let index = 0; index < nameServers.length && ms < 6_000; index++) {
      const server = nameServers[(first + index) % nameServers.length]!
      sentQueries += 1
      const isDropped = isWithin(world.outages, time) || isWithin(world.closed, time) || (isLost() && isLost())
      const answer = isDropped
        ? undefined
        : isWithin(world.captive, time)
          ? answerOf([captive])
          : queryNameServer(server, time)
      ms += answer ? SERVER_MS : ZONE_TIMEOUT_MS
      isAllLame &&= answer?.kind === 'failure' && answer.rcode === 'REFUSED'
      evidence.push(evidenceOf(server.name, answer ?? TIMEOUT, SERVER_MS))
      outcome = answer ?? outcome
      if (answer && answer.kind !== 'failure') {
        nameServer = server.name
        break
      }
    }
    if (isAllLame) outcome = { kind: 'lame', zone: ZONE, nameServers: names, reason: 'no name server knows the zone' }
    return {
      nameServerReply: {
        outcome,
        evidence,
        zone: ZONE,
        nameServers: names,
        nameServer,
        isFromCache: false,
        owner: OWNER,
        server: first,
      },
      ms,
    }
  }

  function networkAt(time: number): NetworkState {
    return isWithin(world.outages, time) ? 'gone' : isWithin(world.captive, time) ? 'captive' : 'well'
  }

  return {
    resolvers,
    /** When a name server last returned each value. */
    lastServedAt,
    sentQueries: () => sentQueries,
    answer(query: Query, time: number): TimedResult {
      const all = resolvers.map((_, index) => index)
      const indexesOf = (servers: readonly ServerAddress[]) =>
        servers.map(({ ip }) => resolvers.findIndex((resolver) => resolver.ip === ip))
      switch (query.purpose) {
        case 'first': {
          const start = firstQueries++ % all.length
          return queryResolvers([...all.slice(start), ...all.slice(0, start)], time)
        }
        case 'retry':
        case 'other_resolver':
        case 'resolver_sample': {
          return queryResolvers(indexesOf(query.servers), time)
        }
        case 'checking_disabled':
          return queryResolvers(indexesOf(query.servers), time, true, 2)
        case 'validation_probe':
          return { ms: RESOLVER_MS, reply: { outcome: NODATA, evidence: [] } }
        case 'other_type': {
          const { kind } = periodAt(world.periods, time)
          const isFailing = kind === 'bogus' || kind === 'broken' || kind === 'dead'
          return { ms: RESOLVER_MS, reply: { outcome: isFailing ? SERVFAIL : NODATA, evidence: [] } }
        }
        case 'cname_links':
          return queryResolvers(all, time, false, 2)
        case 'resolver_ns': {
          sentQueries += 1
          const isApex = query.name === zoneOf(query.name)
          const outcome = isWithin(world.outages, time) ? TIMEOUT : isApex ? nsOf(query.name) : NODATA
          return { ms: RESOLVER_MS, reply: { outcome, evidence: [] } }
        }
        case 'name_server':
        case 'name_server_sample':
          return queryZone(query.server, time)
        case 'zone_ns': {
          const zone = zoneOf(query.name)
          const nameServers = zone === ZONE ? names : [`ns1.${zone}`]
          return { ms: SERVER_MS, nsReply: { ...queryZone(0, time).nameServerReply, zone, nameServers } }
        }
        case 'root_servers': {
          const isBlocked = isWithin(world.outages, time) || isWithin(world.closed, time)
          return { ms: 0, rootProblem: isBlocked ? 'root_servers_unreachable' : undefined }
        }
        case 'network':
          return { ms: RESOLVER_MS, network: networkAt(time) }
      }
    },
  }
}

/** The answer if the owner name has these values. */
export function newAnswer(world: World, values: readonly string[], chain: readonly string[]): Outcome {
  const { recordType, isExactMatch, ttl } = world
  const isCname = recordType === 'CNAME'
  const names = isCname ? [values[0]!, ...chain] : [OWNER, ...chain]
  const links = chain.map((target, index) => ({ name: names[index]!, target, ttl }))
  const rrset = {
    name: isCname ? OWNER : names.at(-1)!,
    type: isCname ? 'CNAME' : 'A',
    ttl,
    values: [...values],
  } as const
  return { kind: 'answer', rrset: { ...rrset, values: [...values] }, chain: isCname && isExactMatch ? [] : links }
}

type CacheEntry = { outcome?: Outcome; until: number }

/** A machine receives each change after its delay. */
function periodOf(periods: readonly Period[], time: number, delay: number): Period {
  return periodAt(periods, Math.max(0, time - delay))
}

/** A random subset of the members, sorted. Members with a greater weight are drawn more often. */
function drawValues(period: Period, random: Random): string[] {
  const { members, size } = period
  const { sorted, positions, isEqual } = orderOf(period)
  if (size >= members.length) return [...sorted]
  if (isEqual && size === 1) return [random.pick(members).value]
  const isDrawn = new Uint8Array(members.length)
  if (isEqual) drawEqual(members.length, size, random, (index) => (isDrawn[positions[index]!] = 1))
  else drawWeighted(members, size, random, (index) => (isDrawn[positions[index]!] = 1))
  return sorted.filter((_, index) => isDrawn[index] === 1)
}

function drawWeighted(members: Period['members'], size: number, random: Random, take: (index: number) => void): void {
  const remaining = members.map(({ weight }, index) => ({ weight, index }))
  for (let count = 0; count < size; count++) {
    let point = random.next() * remaining.reduce((sum, { weight }) => sum + weight, 0)
    let position = 0
    while (position < remaining.length - 1 && point >= remaining[position]!.weight)
      point -= remaining[position++]!.weight
    take(remaining.splice(position, 1)[0]!.index)
  }
}

function drawEqual(count: number, size: number, random: Random, take: (index: number) => void): void {
  let drawn = 0
  for (let index = 0; drawn < size; index++) {
    if (random.below(count - index) >= size - drawn) continue
    take(index)
    drawn += 1
  }
}

type MemberOrder = { sorted: string[]; positions: number[]; isEqual: boolean }

/** The sorted values, the position of each member among them, and whether all have the same weight. Cached, because it is used millions of times. */
function orderOf({ members }: Period): MemberOrder {
  const cached = orders.get(members)
  if (cached) return cached
  const sorted = members.map(({ value }) => value).sort()
  const positions = members.map(({ value }) => sorted.indexOf(value))
  const order = { sorted, positions, isEqual: members.every(({ weight }) => weight === 1) }
  orders.set(members, order)
  return order
}

const orders = new WeakMap<Period['members'], MemberOrder>()

function evidenceOf(server: string, outcome: Outcome, ms: number): Exchange {
  const isBogus = outcome === BOGUS
  return { server, transport: 'udp', rcode: null, flags: [], ede: isBogus ? [{ code: 6, text: '' }] : [], ms, outcome }
}

const TIMEOUT: Outcome = { kind: 'timeout' }
const SERVFAIL: Outcome = { kind: 'failure', rcode: 'SERVFAIL', ede: [] }
const BOGUS: Outcome = { kind: 'failure', rcode: 'SERVFAIL', ede: [{ code: 6, text: '' }] }
const LAME: Outcome = { kind: 'failure', rcode: 'REFUSED', ede: [] }
const NXDOMAIN: Outcome = { kind: 'nxdomain', chain: [] }
const NODATA: Outcome = { kind: 'nodata', chain: [] }

function nsOf(zone: string): Outcome {
  return { kind: 'answer', rrset: { name: zone, type: 'NS', ttl: 300, values: [`ns1.${zone}`] }, chain: [] }
}

/** Zones have two labels. */
function zoneOf(name: string): string {
  return name.split('.').slice(-2).join('.')
}
