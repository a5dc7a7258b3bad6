import type { Evidence, Outcome, Reply, ServerAddress } from '../../dns/outcome.ts'
import { formatServer } from '../../dns/server-address.ts'
import type { NameServerReply, Observation, Query } from '../check.ts'
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

type TimedResult = Pick<Observation, never> & { ms: number } & (
    | { reply: Reply }
    | { nameServerReply: NameServerReply }
    | { nsReply: NameServerReply }
    | { rootProblem: 'root_servers_unreachable' | undefined }
    | { network: 'well' | 'gone' | 'captive' }
  )

/** The servers of a world: resolvers with caches, name servers with machines. Answers queries at virtual times. */
export function createNetwork(world: World, random: Random) {
  const resolvers = world.resolvers.map((_, at): ServerAddress => ({ ip: `192.0.2.${201 + at}`, port: 53 }))
  const caches = world.resolvers.map(({ caches: count }) =>
    Array.from({ length: count }, () => ({ until: -1 }) as CacheEntry),
  )
  const lastServedAt = new Map<string, number>()
  const answers = new Map<string, Outcome>()
  const names = world.nameServers.map(({ name }) => name)
  const poison = [...world.poisoned]
  let turn = 0
  let sent = 0

  const forged = world.recordType === 'CNAME' ? hostOf(FORGED) : FORGED
  const captive = world.recordType === 'CNAME' ? hostOf(CAPTIVE) : CAPTIVE

  function answerOf(values: readonly string[], chain: readonly string[] = []): Outcome {
    const key = values.length < 5 ? [...values, ...chain].join() : undefined
    const known = key && answers.get(key)
    if (known) return known
    const made = newAnswer(world, values, chain)
    if (key && answers.size < 500) answers.set(key, made)
    return made
  }

  /** What an authoritative machine answers. */
  function authoritative(server: NameServer, time: number): Outcome | undefined {
    if (server.status === 'silent') return undefined
    if (server.status === 'lame') return LAME
    const delay = server.delays[server.delays.length > 1 ? random.below(server.delays.length) : 0]!
    const latest = periodOf(world.periods, time, delay)
    const isFailing = latest.kind === 'dead' || latest.kind === 'broken'
    const period = server.status === 'stale' && !isFailing ? world.periods[0]! : latest
    const isRegional = server.region !== undefined && (period.kind === 'records' || period.kind === 'bogus')
    const outcome = isRegional ? answerOf([server.region!]) : fromPeriod(period, time)
    return isCutOff(server, outcome) ? undefined : outcome
  }

  /** A truncated answer of a server that cannot be reached over TCP. */
  function isCutOff(server: { tcp?: boolean }, outcome: Outcome | undefined): boolean {
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

  /** What one resolver answers, or undefined where nothing comes back. */
  function recursive(at: number, time: number, isUnvalidated: boolean): Outcome | undefined {
    const { status } = world.resolvers[at]!
    if (status === 'silent' || isWithin(world.outages, time)) return undefined
    if (isWithin(world.captive, time)) return answerOf([captive])
    if (status === 'lies') return NXDOMAIN
    const period = periodAt(world.periods, time)
    const own = caches[at]!
    const cache = own[own.length > 1 ? random.below(own.length) : 0]!
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
    if (isUnvalidated) return outcome // kept apart from what others are given
    const seconds = outcome.kind === 'answer' ? world.ttl : outcome.kind === 'failure' ? 5 : 60
    Object.assign(cache, { outcome, until: time + seconds * 1_000 })
    return outcome
  }

  function withTtl(outcome: Outcome, leftMs: number): Outcome {
    // Only where caches decide does the remaining TTL matter.
    if (world.roots || outcome.kind !== 'answer') return outcome
    return { ...outcome, rrset: { ...outcome.rrset, ttl: Math.ceil(leftMs / 1_000) } }
  }

  /** As a resolver does: one name server after the other. */
  function resolve(time: number): Outcome | undefined {
    const start = random.below(world.nameServers.length)
    let failure: Outcome | undefined
    for (let at = 0; at < world.nameServers.length; at++) {
      const outcome = authoritative(world.nameServers[(start + at) % world.nameServers.length]!, time)
      if (outcome && outcome.kind !== 'failure') return outcome
      failure = outcome ?? failure
    }
    return failure && SERVFAIL
  }

  function queryResolvers(
    order: readonly number[],
    time: number,
    isUnvalidated = false,
    tries = ATTEMPTS,
  ): { reply: Reply; ms: number } {
    const evidence: Evidence[] = []
    let ms = 0
    let outcome: Outcome = TIMEOUT
    for (let attempt = 0; attempt < tries; attempt++) {
      const at = order[attempt % order.length]!
      sent += 1
      const received = isLost() ? undefined : recursive(at, time, isUnvalidated)
      const found = isCutOff(world.resolvers[at]!, received) ? undefined : received
      ms += found ? RESOLVER_MS : TIMEOUT_MS
      if (found || outcome.kind === 'timeout') outcome = found ?? TIMEOUT
      evidence.push(evidenceOf(formatServer(resolvers[at]!), outcome, found ? RESOLVER_MS : TIMEOUT_MS))
      if (found && found.kind !== 'failure') break
      if (found && attempt + 1 >= order.length) break
    }
    return { reply: { outcome, evidence }, ms }
  }

  function queryZone(first: number, time: number): { nameServerReply: NameServerReply; ms: number } {
    const evidence: Evidence[] = []
    const { nameServers } = world
    let ms = 0
    let outcome: Outcome = TIMEOUT
    let nameServer: string | undefined
    let isAllLame = true
    for (let at = 0; at < nameServers.length && ms < 6_000; at++) {
      const server = nameServers[(first + at) % nameServers.length]!
      sent += 1
      const isGone = isWithin(world.outages, time) || isWithin(world.closed, time) || (isLost() && isLost())
      const found = isGone
        ? undefined
        : isWithin(world.captive, time)
          ? answerOf([captive])
          : authoritative(server, time)
      ms += found ? SERVER_MS : ZONE_TIMEOUT_MS
      isAllLame &&= found?.kind === 'failure' && found.rcode === 'REFUSED'
      evidence.push(evidenceOf(server.name, found ?? TIMEOUT, SERVER_MS))
      outcome = found ?? outcome
      if (found && found.kind !== 'failure') {
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

  function networkAt(time: number): 'well' | 'gone' | 'captive' {
    return isWithin(world.outages, time) ? 'gone' : isWithin(world.captive, time) ? 'captive' : 'well'
  }

  return {
    resolvers,
    /** When each value was last given by an authoritative server to anyone. */
    given: lastServedAt,
    sent: () => sent,
    answer(query: Query, time: number): TimedResult {
      const all = resolvers.map((_, at) => at)
      const indexesOf = (servers: readonly ServerAddress[]) =>
        servers.map(({ ip }) => resolvers.findIndex((one) => one.ip === ip))
      switch (query.purpose) {
        case 'first': {
          const start = turn++ % all.length
          return queryResolvers([...all.slice(start), ...all.slice(0, start)], time)
        }
        case 'retry':
        case 'resolver_sample': {
          return queryResolvers(indexesOf(query.servers), time)
        }
        case 'checking_disabled':
          return queryResolvers(indexesOf(query.servers), time, true, 2)
        case 'other_type': {
          const { kind } = periodAt(world.periods, time)
          const isFailing = kind === 'bogus' || kind === 'broken' || kind === 'dead'
          return { ms: RESOLVER_MS, reply: { outcome: isFailing ? SERVFAIL : NODATA, evidence: [] } }
        }
        case 'cname_links':
          return queryResolvers(all, time, false, 2)
        case 'resolver_ns': {
          sent += 1
          const isApex = query.name === zoneOf(query.name)
          const found = isWithin(world.outages, time) ? TIMEOUT : isApex ? nsOf(query.name) : NODATA
          return { ms: RESOLVER_MS, reply: { outcome: found, evidence: [] } }
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
          const isShut = isWithin(world.outages, time) || isWithin(world.closed, time)
          return { ms: 0, rootProblem: isShut ? 'root_servers_unreachable' : undefined }
        }
        case 'network':
          return { ms: RESOLVER_MS, network: networkAt(time) }
      }
    },
  }
}

/** What a server answers where the owner has these values. */
export function newAnswer(world: World, values: readonly string[], chain: readonly string[]): Outcome {
  const { recordType, isExactMatch, ttl } = world
  const isCname = recordType === 'CNAME'
  const names = isCname ? [values[0]!, ...chain] : [OWNER, ...chain]
  const links = chain.map((target, at) => ({ name: names[at]!, target, ttl }))
  const rrset = {
    name: isCname ? OWNER : names.at(-1)!,
    type: isCname ? 'CNAME' : 'A',
    ttl,
    values: [...values],
  } as const
  return { kind: 'answer', rrset: { ...rrset, values: [...values] }, chain: isCname && isExactMatch ? [] : links }
}

type CacheEntry = { outcome?: Outcome; until: number }

/** The machine learns of each change some time after it was made. */
function periodOf(periods: readonly Period[], time: number, delay: number): Period {
  return periodAt(periods, Math.max(0, time - delay))
}

/** Some members, those of greater weight more often, sorted. */
function drawValues(period: Period, random: Random): string[] {
  const { members, size } = period
  const { sorted, places, isEqual } = orderOf(period)
  if (size >= members.length) return [...sorted]
  if (isEqual && size === 1) return [random.pick(members).value]
  const isDrawn = new Uint8Array(members.length)
  if (isEqual) drawEqual(members.length, size, random, (at) => (isDrawn[places[at]!] = 1))
  else drawWeighted(members, size, random, (at) => (isDrawn[places[at]!] = 1))
  return sorted.filter((_, at) => isDrawn[at] === 1)
}

function drawWeighted(members: Period['members'], size: number, random: Random, take: (at: number) => void): void {
  const left = members.map(({ weight }, at) => ({ weight, at }))
  for (let count = 0; count < size; count++) {
    let point = random.next() * left.reduce((sum, { weight }) => sum + weight, 0)
    let at = 0
    while (at < left.length - 1 && point >= left[at]!.weight) point -= left[at++]!.weight
    take(left.splice(at, 1)[0]!.at)
  }
}

function drawEqual(count: number, size: number, random: Random, take: (at: number) => void): void {
  let drawn = 0
  for (let at = 0; drawn < size; at++) {
    if (random.below(count - at) >= size - drawn) continue
    take(at)
    drawn += 1
  }
}

type MemberOrder = { sorted: string[]; places: number[]; isEqual: boolean }

/** The values in order, where each member is among them, and whether all come equally often. Drawn millions of times. */
function orderOf({ members }: Period): MemberOrder {
  const known = orders.get(members)
  if (known) return known
  const sorted = members.map(({ value }) => value).sort()
  const places = members.map(({ value }) => sorted.indexOf(value))
  const made = { sorted, places, isEqual: members.every(({ weight }) => weight === 1) }
  orders.set(members, made)
  return made
}

const orders = new WeakMap<Period['members'], MemberOrder>()

function evidenceOf(server: string, outcome: Outcome, ms: number): Evidence {
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
