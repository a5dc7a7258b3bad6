import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Random } from './random.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** What the zone holds from an instant on, until the next one. Instants are virtual milliseconds from the world's beginning. */
export type Period = {
  from: number
  /** `dead`: no name server of the zone answers; `broken`: all of them answer SERVFAIL; `bogus`: validation fails. */
  kind: 'records' | 'nxdomain' | 'nodata' | 'dead' | 'broken' | 'bogus'
  members: WeightedValue[]
  /** Members in one answer; all of them where it is as many as there are. */
  size: number
  /** Names of CNAME records: from the owner to the addresses; for a CNAME monitor those that its target leads to. */
  chain?: string[]
}
export type WeightedValue = { value: string; weight: number }

/** `delays`: how long after a change each of its machines knows of it; a query reaches any of them. */
export type NameServer = {
  name: string
  status: 'ok' | 'silent' | 'lame' | 'stale'
  delays: number[]
  /** GeoDNS: this server stands in another region and gives this instead of the records. */
  region?: string
  /** Answers over TCP too. */
  tcp?: boolean
}
/** `caches`: how many independent caches answer behind its address. `lies`: always gives this instead. */
export type ResolverSetup = { caches: number; status: 'ok' | 'silent' | 'lies'; tcp?: boolean }
export type TimeRange = { from: number; to: number }

/** Everything that can happen to one monitor, drawn from a seed. The simulator knows the truth at every instant. */
export type World = {
  seed: number
  days: number
  /** Minutes. */
  frequency: number
  slot: number
  recordType: MonitorRecordType
  isExactMatch: boolean
  expected: string[]
  ttl: number
  periods: Period[]
  nameServers: NameServer[]
  resolvers: ResolverSetup[]
  /** Whether the zone's own servers may be asked. */
  roots: boolean
  canaries: boolean
  /** Chance that one packet is lost. */
  loss: number
  /** No packet reaches the outside. */
  outages: TimeRange[]
  /** A router answers every query with the same address. */
  captive: TimeRange[]
  /** Port 53 of the outside is closed, the resolvers answer. */
  closed: TimeRange[]
  /** A forged answer enters a resolver's cache. */
  poisoned: number[]
  /** Other regions are given other records: the resolvers stand there. */
  geo: string | undefined
  clockSteps: { at: number; by: number }[]
  /** Records do not fit into a UDP answer. */
  truncates?: boolean
}

export function newWorld(seed: number, random: Random): World {
  const days = 10
  const isRotating = random.chance(0.2)
  const count = isRotating
    ? random.pick([2, 2, 2, 3, 3, 4, 5, 6, 8, 8, 12, 20, 32, 64])
    : random.pick([1, 1, 1, 2, 3, 4])
  const size = isRotating ? 1 + random.below(count - 1) : count
  const isSkewed = isRotating && random.chance(0.3)
  const values = Array.from({ length: count }, (_, at) => `192.0.2.${at + 1}`)
  const members = values.map(
    (value, at): WeightedValue => ({ value, weight: isSkewed && at === count - 1 ? rareWeight(count) : 1 }),
  )
  const initial: Period = { from: 0, kind: 'records', members, size }
  const canBeExact = count <= 10
  const isExactMatch = canBeExact && random.chance(0.75)
  const nameServers = newNameServers(random)
  const resolvers = newResolvers(random)
  const world: World = {
    seed,
    days,
    frequency: random.pick([5, 15, 30, 60, 60, 60, 120, 120, 120, 120]),
    slot: random.below(5 * MINUTE),
    recordType: 'A',
    isExactMatch,
    expected: expectedOf(values, isExactMatch, random),
    ttl: random.pick([0, 30, 60, 300, 300, 3_600]),
    periods: newPeriods(initial, days * DAY, random),
    nameServers,
    resolvers,
    roots: random.chance(0.85),
    canaries: random.chance(0.95),
    loss: random.chance(0.1) ? random.pick([0.01, 0.03, 0.1]) : 0,
    outages: random.chance(0.1) ? newTimeRanges(random, days, 1 + random.below(3), 2 * HOUR) : [],
    captive: random.chance(0.03) ? newTimeRanges(random, days, 1, HOUR) : [],
    closed: random.chance(0.05) ? newTimeRanges(random, days, 2, 8 * HOUR) : [],
    poisoned: random.chance(0.05) ? [random.below(days * DAY)] : [],
    geo: random.chance(0.04) ? '198.51.100.77' : undefined,
    clockSteps: random.chance(0.05)
      ? [{ at: random.below(days * DAY), by: random.pick([-DAY, -HOUR, HOUR, DAY]) }]
      : [],
  }
  if (isSkewed && size === 1 && count > 3 && random.chance(0.5)) addRareMember(world, values.at(-2)!)
  if (random.chance(0.2)) addChains(world, random)
  if (world.periods.every(({ size: given }) => given === 1) && random.chance(0.3)) monitorCname(world)
  if (random.chance(0.06)) truncate(world, random)
  if (nameServers.length > 1 && random.chance(0.03)) addRegions(world, random)
  return world
}

/** A second member that comes with 5 % of the answers. */
function addRareMember(world: World, value: string): void {
  for (const { members } of world.periods) {
    const rare = ((members.length - 2) * 0.05) / 0.9
    for (const member of members) if (member.weight !== 1 || member.value === value) member.weight = rare
  }
}

/** Inside the zone and outside of it; some chains change with the records. */
function addChains(world: World, random: Random): void {
  const zone = random.pick(['example.test', 'example.net'])
  const draw = (at: number) => Array.from({ length: 1 + random.below(3) }, (_, link) => `alias${at}-${link}.${zone}`)
  let chain = draw(0)
  for (const [at, period] of world.periods.entries()) {
    if (at > 0 && random.chance(0.4)) chain = draw(at)
    period.chain = chain
  }
}

/** The monitor watches the CNAME record instead of an address. */
function monitorCname(world: World): void {
  world.recordType = 'CNAME'
  world.expected = world.expected.map((value) => hostOf(value.replace('.0/24', '.1')))
  if (world.geo !== undefined) world.geo = hostOf(world.geo)
  for (const period of world.periods) {
    period.members = period.members.map(({ value, weight }) => ({ value: hostOf(value), weight }))
  }
}

/** The name that takes an address's place where a CNAME record is watched. */
export function hostOf(address: string): string {
  return `host-${address.replaceAll('.', '-')}.example.net`
}

/** Some servers answer over UDP only, and so never give the records; one of each kind answers over TCP too. */
function truncate(world: World, random: Random): void {
  world.truncates = true
  for (const servers of [world.nameServers, world.resolvers]) {
    const first = servers.findIndex(({ status }) => status === 'ok')
    for (const [at, server] of servers.entries()) server.tcp = at === first || random.chance(0.7)
  }
}

/** One name server gives other records than the others, or each of them its own; where the others rotate, that one does not. */
function addRegions({ nameServers, recordType }: World, random: Random): void {
  const odd = random.below(nameServers.length)
  const isEach = random.chance(0.5)
  for (const [at, server] of nameServers.entries()) {
    if (server.status !== 'ok' || (!isEach && at !== odd)) continue
    const address = `198.51.100.${at + 1}`
    server.region = recordType === 'CNAME' ? hostOf(address) : address
  }
}

/** A weight that gives the member 5 % of single answers. */
function rareWeight(count: number): number {
  return ((count - 1) * 0.05) / 0.95
}

function expectedOf(values: readonly string[], isExactMatch: boolean, random: Random): string[] {
  if (random.chance(0.1)) return ['203.0.113.9']
  if (isExactMatch) return [...values]
  return random.chance(0.3) ? ['192.0.2.0/24'] : values.slice(-1 - random.below(Math.min(values.length, 3)))
}

function newNameServers(random: Random): NameServer[] {
  const count = random.pick([1, 2, 2, 2, 2, 3, 4, 4, 6])
  const isAnycast = random.chance(0.15)
  const isSlow = random.chance(0.3)
  const servers = Array.from({ length: count }, (_, at): NameServer => {
    const machines = isAnycast ? 2 + random.below(3) : 1
    const delays = Array.from({ length: machines }, () => (isSlow ? random.below(8 * MINUTE) : random.below(5_000)))
    return { name: `ns${at + 1}.example.test`, status: 'ok', delays }
  })
  if (count > 1 && random.chance(0.15)) servers[random.below(count)]!.status = random.pick(['silent', 'lame'])
  if (count > 2 && random.chance(0.05)) servers[random.below(count)]!.status = 'stale'
  return servers
}

function newResolvers(random: Random): ResolverSetup[] {
  const count = random.pick([1, 2, 2, 2, 3, 4])
  const resolvers = Array.from({ length: count }, (): ResolverSetup => {
    return { caches: random.chance(0.2) ? 2 + random.below(3) : 1, status: 'ok' }
  })
  if (count > 1 && random.chance(0.08)) resolvers[random.below(count)]!.status = 'silent'
  else if (count > 2 && random.chance(0.05)) resolvers[random.below(count)]!.status = 'lies'
  return resolvers
}

function newPeriods(initial: Period, length: number, random: Random): Period[] {
  const periods = [initial]
  const changes = random.pick([0, 0, 1, 1, 2, 3])
  const times = Array.from({ length: changes }, () => HOUR + random.below(length - 12 * HOUR)).sort((a, b) => a - b)
  for (const from of times) {
    const last = periods.at(-1)!
    if (from - last.from < 8 * HOUR) continue
    if (last.kind !== 'records') {
      periods.push({ ...initial, from })
      continue
    }
    const change = random.below(10)
    if (change < 3) periods.push({ ...replaceMember(last, random), from })
    else if (change < 5) periods.push({ ...addMember(last), from })
    else if (change < 7) periods.push({ ...removeMember(last, random), from })
    else {
      const kind = random.pick(['nxdomain', 'nodata', 'dead', 'broken', 'bogus'] as const)
      periods.push({ ...last, kind, from })
    }
  }
  return periods
}

function replaceMember(period: Period, random: Random): Period {
  const at = random.below(period.members.length)
  const members = period.members.map((member, place) =>
    place === at ? { ...member, value: `203.0.113.${place + 20}` } : member,
  )
  return { ...period, members }
}

function addMember(period: Period): Period {
  const value = `203.0.113.${period.members.length + 100}`
  const isWhole = period.size === period.members.length
  const members = [...period.members, { value, weight: 1 }]
  return { ...period, members, size: isWhole ? members.length : period.size }
}

function removeMember(period: Period, random: Random): Period {
  if (period.members.length < 2) return replaceMember(period, random)
  const members = period.members.slice(1)
  return { ...period, members, size: Math.min(period.size, members.length) }
}

function newTimeRanges(random: Random, days: number, count: number, longest: number): TimeRange[] {
  return Array.from({ length: count }, () => {
    const from = random.below(days * DAY)
    return { from, to: from + 30_000 + random.below(longest) }
  })
}

export function isWithin(windows: readonly TimeRange[], time: number): boolean {
  return windows.some(({ from, to }) => time >= from && time < to)
}

/** What the zone holds at an instant. */
export function periodAt(periods: readonly Period[], time: number): Period {
  let found = periods[0]!
  for (const period of periods) if (period.from <= time) found = period
  return found
}
