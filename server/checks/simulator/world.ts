import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Random } from './random.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** The state of the zone until the next period begins. Instants are virtual milliseconds since the beginning of the world. */
export type Period = {
  from: number
  /** `dead`: no name server of the zone answers; `broken`: all of them answer SERVFAIL; `bogus`: validation fails. */
  kind: 'records' | 'nxdomain' | 'nodata' | 'dead' | 'broken' | 'bogus'
  members: WeightedValue[]
  /** How many members one answer has. If fewer than all, the RRset rotates. */
  size: number
  /** The CNAME chain from the owner name to the addresses. For a CNAME monitor, the chain after the first target. */
  chain?: string[]
}
export type WeightedValue = { value: string; weight: number }

/** `delays`: for each of its machines, how long after a change it answers the new records. A query reaches any of them. */
export type NameServer = {
  name: string
  status: 'ok' | 'silent' | 'lame' | 'stale'
  delays: number[]
  /** GeoDNS: the value that this server answers instead of the records, because it is in another region. */
  region?: string
  /** Whether it also answers over TCP. Default: yes. */
  tcp?: boolean
}
/** `caches`: how many independent caches share its address. `lies`: always answers NXDOMAIN. */
export type ResolverSetup = { caches: number; status: 'ok' | 'silent' | 'lies'; tcp?: boolean }
export type TimeRange = { from: number; to: number }

/** Everything that happens to one monitor, derived from a seed. So the simulator knows the correct state at every instant. */
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
  /** Whether the name servers of the zone can be queried. */
  roots: boolean
  canaries: boolean
  /** The probability that a packet is lost. */
  loss: number
  /** Zonewatch has no Internet connection. */
  outages: TimeRange[]
  /** A router answers every query with the same address. */
  captive: TimeRange[]
  /** Port 53 is blocked, so only the resolvers can be queried. */
  closed: TimeRange[]
  /** When a forged answer enters the cache of a resolver. */
  poisoned: number[]
  /** The value that the resolvers receive, because they are in another region. */
  geo: string | undefined
  clockSteps: { at: number; by: number }[]
  /** The records do not fit into a UDP response. */
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
  const values = Array.from({ length: count }, (_, index) => `192.0.2.${index + 1}`)
  const members = values.map(
    (value, index): WeightedValue => ({ value, weight: isSkewed && index === count - 1 ? rareWeight(count) : 1 }),
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
  if (world.periods.every((period) => period.size === 1) && random.chance(0.3)) monitorCname(world)
  if (random.chance(0.06)) truncate(world, random)
  if (nameServers.length > 1 && random.chance(0.03)) addRegions(world, random)
  return world
}

/** Adds a second member that is in 5 % of the answers. */
function addRareMember(world: World, value: string): void {
  for (const { members } of world.periods) {
    const rare = ((members.length - 2) * 0.05) / 0.9
    for (const member of members) if (member.weight !== 1 || member.value === value) member.weight = rare
  }
}

/** Adds CNAME chains inside or outside the zone. Some chains change with the records. */
function addChains(world: World, random: Random): void {
  const zone = random.pick(['example.test', 'example.net'])
  const newChain = (number: number) =>
    Array.from({ length: 1 + random.below(3) }, (_, link) => `alias${number}-${link}.${zone}`)
  let chain = newChain(0)
  for (const [index, period] of world.periods.entries()) {
    if (index > 0 && random.chance(0.4)) chain = newChain(index)
    period.chain = chain
  }
}

/** Makes the monitor a CNAME monitor. */
function monitorCname(world: World): void {
  world.recordType = 'CNAME'
  world.expected = world.expected.map((value) => hostOf(value.replace('.0/24', '.1')))
  if (world.geo !== undefined) world.geo = hostOf(world.geo)
  for (const period of world.periods) {
    period.members = period.members.map(({ value, weight }) => ({ value: hostOf(value), weight }))
  }
}

/** The CNAME target that replaces an address. */
export function hostOf(address: string): string {
  return `host-${address.replaceAll('.', '-')}.example.net`
}

/** Some servers answer over UDP only, so they never return the records. At least one name server and one resolver support TCP. */
function truncate(world: World, random: Random): void {
  world.truncates = true
  for (const servers of [world.nameServers, world.resolvers]) {
    const first = servers.findIndex(({ status }) => status === 'ok')
    for (const [index, server] of servers.entries()) server.tcp = index === first || random.chance(0.7)
  }
}

/** One name server answers a different value than the others, or each one does. These answers do not rotate. */
function addRegions({ nameServers, recordType }: World, random: Random): void {
  const odd = random.below(nameServers.length)
  const areAllDifferent = random.chance(0.5)
  for (const [index, server] of nameServers.entries()) {
    if (server.status !== 'ok' || (!areAllDifferent && index !== odd)) continue
    const address = `198.51.100.${index + 1}`
    server.region = recordType === 'CNAME' ? hostOf(address) : address
  }
}

/** The weight with which a member is in 5 % of the answers with one member. */
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
  const servers = Array.from({ length: count }, (_, index): NameServer => {
    const machines = isAnycast ? 2 + random.below(3) : 1
    const delays = Array.from({ length: machines }, () => (isSlow ? random.below(8 * MINUTE) : random.below(5_000)))
    return { name: `ns${index + 1}.example.test`, status: 'ok', delays }
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
  const index = random.below(period.members.length)
  const members = period.members.with(index, { ...period.members[index]!, value: `203.0.113.${index + 20}` })
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

function newTimeRanges(random: Random, days: number, count: number, maxMs: number): TimeRange[] {
  return Array.from({ length: count }, () => {
    const from = random.below(days * DAY)
    return { from, to: from + 30_000 + random.below(maxMs) }
  })
}

export function isWithin(windows: readonly TimeRange[], time: number): boolean {
  return windows.some(({ from, to }) => time >= from && time < to)
}

/** The period that includes the time. */
export function periodAt(periods: readonly Period[], time: number): Period {
  let current = periods[0]!
  for (const period of periods) if (period.from <= time) current = period
  return current
}
