import type { TimeRange } from '../dns/host.ts'
import { MODELS } from '../dns/policies.ts'
import type { Member } from '../dns/zone.ts'
import { createRandom, type Random } from '../random.ts'
import { drawChanges } from './draw-changes.ts'
import {
  DAY,
  HOUR,
  MINUTE,
  OTHER_REGION,
  type Outage,
  type Publication,
  type ResolverInWorld,
  regionalValue,
  type ServerSetup,
  sampleValue,
  type World,
  ZONE,
} from './world.ts'

/** The world of a seed. */
export function drawWorld(seed: number): World {
  const random = createRandom(seed)
  const isRotating = random.chance(0.2)
  const days = isRotating ? 14 : 9
  const recordType = isRotating ? random.pick(['A', 'A', 'A', 'MX', 'TXT'] as const) : drawType(random)
  const members = drawMembers(recordType, isRotating, random)
  const size = isRotating ? 1 + random.below(members.length - 1) : members.length
  const isExactMatch = members.length <= 10 && random.chance(0.75)
  const publication: Publication = { ns: [0], content: 'records', members, size }
  if (recordType !== 'NS' && recordType !== 'CNAME' && random.chance(0.15)) publication.isAlias = true
  const isSigned = random.chance(0.12)
  if (isSigned) publication.signedBy = { key: 'key-1', from: -DAY, until: Number.MAX_SAFE_INTEGER }
  const providers = drawProviders(random)
  const world: World = {
    seed,
    days,
    frequency: random.pick([5, 15, 30, 60, 60, 60, 120, 120]),
    slot: random.below(5 * MINUTE),
    recordType,
    isExactMatch,
    expected: [],
    ttl: random.pick([0, 30, 60, 300, 300, 3_600, 3_600, 86_400]),
    negativeTtl: random.pick([60, 300, 900, 3_600, 10_800]),
    delegationTtl: random.pick([3_600, 21_600, 86_400, 172_800]),
    nsTtl: random.pick([300, 3_600, 86_400, 172_800]),
    parentDelaysMs: Array.from({ length: random.pick([2, 3, 4]) }, () =>
      random.chance(0.2) ? random.below(10 * MINUTE) : random.below(20_000),
    ),
    providers,
    resolution: 'auto',
    isVanity: random.chance(0.15),
    delegation: [0],
    ds: isSigned ? ['key-1'] : [],
    publications: providers.map(() => publication),
    changes: [],
    resolvers: drawResolvers(random, isSigned),
    roots: random.chance(0.993),
    canaries: random.chance(0.99),
    loss: random.chance(0.1) ? random.pick([0.01, 0.03, 0.1]) : 0,
    outages: random.chance(0.12) ? drawOutages(random, days) : [],
    captive: random.chance(0.02) ? drawRanges(random, days, 1, HOUR) : [],
    closed: random.chance(0.015) ? drawRanges(random, days, 2, 8 * HOUR) : [],
    poisoned: random.chance(0.05) ? [random.below(days * DAY)] : [],
    truncates: false,
    clockSteps: random.chance(0.05)
      ? [{ at: random.below(days * DAY), by: random.pick([-DAY, -HOUR, HOUR, DAY]) }]
      : [],
  }
  if (!isSigned && recordType !== 'NS' && random.chance(0.008)) makePrivate(world, random)
  // Both providers at once: up to 13 servers.
  if (!world.privateZone && random.chance(0.08)) {
    world.delegation = [0, 1]
    publication.ns = [0, 1]
  }
  if (!world.privateZone && recordType !== 'NS') drawOddities(world, publication, random)
  world.changes = drawChanges(world, publication, random)
  if (isSigned) drawParentExpiry(world, createRandom(seed ^ 0xd5))
  world.expected = drawExpected(world, publication, random)
  return world
}

/** From a stream of its own: the other worlds stay as they are. */
function drawParentExpiry(world: World, random: Random): void {
  if (!random.chance(0.1)) return
  const from = HOUR + random.below((world.days - 4) * DAY)
  world.parentExpiry = { from, to: from + random.pick([6 * HOUR, 3 * DAY, 3 * DAY]) }
}

/** Only the resolvers know the zone's servers, which have private addresses. */
function makePrivate(world: World, random: Random): void {
  world.privateZone = random.pick(['denied', 'other_version'] as const)
  world.resolution = random.pick(['auto', 'resolvers'] as const)
  world.isVanity = true
}

/** Other answers in another region, a server with its own answer, and records that do not fit into a UDP response. */
function drawOddities(world: World, { isAlias, members, size }: Publication, random: Random): void {
  const servers = world.providers[0]!
  if (!isAlias && random.chance(0.05)) for (const resolver of world.resolvers) resolver.region = OTHER_REGION
  else if (servers.length > 2 && size === members.length && random.chance(0.03))
    servers[0]!.region = regionalValue(world.recordType)
  if (!random.chance(0.05)) return
  world.truncates = true
  for (const list of world.providers) {
    for (const [index, server] of list.entries()) if (index > 0 && random.chance(0.3)) server.isUdpOnly = true
  }
}

function drawType(random: Random): World['recordType'] {
  return random.pick(['A', 'A', 'A', 'A', 'CNAME', 'MX', 'TXT', 'NS'] as const)
}

function drawMembers(type: World['recordType'], isRotating: boolean, random: Random): Member[] {
  const count =
    type === 'CNAME'
      ? 1
      : isRotating
        ? random.pick([2, 2, 2, 3, 3, 4, 5, 6, 8, 8, 12, 20])
        : random.pick([1, 1, 1, 2, 3, 4])
  const isSkewed = isRotating && random.chance(0.25)
  const isRare = isSkewed && count > 3 && random.chance(0.08)
  return Array.from({ length: count }, (_, index) => {
    // The last one is in at least 8 % of the answers, unless it is rare.
    const least = isRare ? 0.02 * (count - 1) : Math.max(0.1 * (count - 1), 0.3)
    const weight = isSkewed && index === count - 1 ? least : 1
    return { value: sampleValue(type, index + 1), weight }
  })
}

function drawExpected(world: World, { members }: Publication, random: Random): string[] {
  const { recordType, isExactMatch, providers, delegation, isVanity } = world
  const values =
    recordType === 'NS'
      ? delegation.flatMap((provider) =>
          providers[provider]!.map((_, server) =>
            isVanity && provider === 0 ? `ns${server + 1}.${ZONE}` : `ns${server + 1}.p${provider}.hosting`,
          ),
        )
      : members.map(({ value }) => value)
  if (random.chance(0.1)) return [recordType === 'NS' ? 'ns1.elsewhere.hosting' : sampleValue(recordType, 250)]
  if (isExactMatch) return [...values].sort()
  return values.slice(-1 - random.below(Math.min(values.length, 3))).sort()
}

function drawProviders(random: Random) {
  return Array.from({ length: 3 }, (_, provider) => {
    // Two providers together have at most 13 servers.
    const count = random.pick(provider === 0 ? [1, 2, 2, 2, 3, 4, 4, 6, 7] : [2, 2, 3, 4, 6])
    const isAnycast = random.chance(0.15)
    const isSlow = random.chance(0.25)
    return Array.from({ length: count }, (): ServerSetup => {
      const machines = isAnycast ? 2 + random.below(3) : 1
      const delaysMs = Array.from({ length: machines }, () => (isSlow ? random.below(8 * MINUTE) : random.below(5_000)))
      const hasLimit = random.chance(0.05)
      return { delaysMs, ...(hasLimit ? { perSecond: 5 + random.below(20) } : {}) }
    })
  })
}

function drawResolvers(random: Random, isSigned: boolean): ResolverInWorld[] {
  const count = random.pick([1, 2, 2, 2, 3, 4])
  const names = Object.keys(MODELS)
  const resolvers = Array.from({ length: count }, (_, index): ResolverInWorld => {
    const isStale = random.chance(0.15)
    const candidates = names.filter((name) => isStale || !name.includes('stale'))
    const validating = candidates.filter((name) => name.includes('validating'))
    return {
      model: random.pick(isSigned && index === 0 && !random.chance(0.03) ? validating : candidates),
      caches: random.chance(0.2) ? 2 + random.below(3) : 1,
      isPopular: random.chance(0.4),
      isLocal: random.chance(0.4),
      region: '',
      status: 'ok',
    }
  })
  if (count > 1 && random.chance(0.08)) resolvers[1 + random.below(count - 1)]!.status = 'silent'
  else if (count > 3 && random.chance(0.05)) resolvers[1 + random.below(count - 1)]!.status = 'lies'
  if (random.chance(0.04)) resolvers[random.below(count)]!.rewritesNxdomain = true
  return resolvers
}

function drawRanges(random: Random, days: number, count: number, maxMs: number): TimeRange[] {
  return Array.from({ length: count }, () => {
    const from = random.below(days * DAY)
    return { from, to: from + 30_000 + random.below(maxMs) }
  }).sort((one, other) => one.from - other.from)
}

function drawOutages(random: Random, days: number): Outage[] {
  const reach = random.pick(['all', 'uplink', 'uplink'] as const)
  return drawRanges(random, days, 1 + random.below(3), 2 * HOUR).map((range) => ({ ...range, reach }))
}
