import { hash } from 'node:crypto'
import type { Content, Host, Timeline } from '../dns/host.ts'
import { parentOf, type RRset, type Signature } from '../dns/message.ts'
import { newZone, type ZoneData, type ZoneRRset } from '../dns/zone.ts'
import {
  OTHER_REGION,
  OWNER,
  PARENT,
  PARENT_KEY,
  type Publication,
  regionalValue,
  type ServerStatus,
  type Step,
  stepsOf,
  type World,
  ZONE,
} from './world.ts'

export const ROOT_IPS = ['9.0.0.1', '9.0.0.2', '9.0.0.3', '9.0.0.4']
export const TLD_IPS = ['9.0.1.1', '9.0.1.2', '9.0.1.3', '9.0.1.4']
const STATIC_IPS = ['9.0.2.1', '9.0.2.2']
const PARKED = '203.0.113.200'
/** Below it are the names that an alias leads to. */
const ALIAS_ZONE = 'cdn.demo'
export const CANARY = 'canary.well'
const DAY_S = 86_400

/** The hosts of a world, by address, and the timelines that its truth is read from. */
export type Internet = {
  hosts: ReadonlyMap<string, Host>
  /** For each server of the parent zone, what it says about the delegation. */
  parents: readonly Timeline[]
  /** The timelines of the machines of a server, by its name. */
  machinesOf: ReadonlyMap<string, readonly Timeline[]>
  /** The names of servers whose answers with records do not arrive. */
  truncating: ReadonlySet<string>
  /** The private servers of the zone, if there are some. */
  privateIps: readonly string[]
  /** All instants at which a server begins to answer something else. */
  instants: readonly number[]
}

export function nameOfServer({ isVanity }: Pick<World, 'isVanity'>, provider: number, server: number): string {
  return isVanity && provider === 0 ? `ns${server + 1}.${ZONE}` : `ns${server + 1}.p${provider}.hosting`
}

export function ipOfServer({ privateZone }: Pick<World, 'privateZone'>, provider: number, server: number): string {
  return `${privateZone && provider === 0 ? '10' : '9'}.1.${provider}.${server + 1}`
}

export function buildInternet(world: World): Internet {
  const steps = stepsOf(world)
  const parents = world.parentDelaysMs.map((delay) => parentTimeline(world, steps, delay))
  const machinesOf = new Map<string, readonly Timeline[]>()
  const hosts: Host[] = [...staticHosts(world)]
  for (const [index, timeline] of parents.entries()) {
    hosts.push({ ip: TLD_IPS[index]!, name: `ns${index + 1}.demo`, services: [{ zone: 'demo', machines: [timeline] }] })
  }
  const cache = new Map<string, ZoneData>()
  const truncating = new Set<string>()
  for (const [provider, servers] of world.providers.entries()) {
    for (const [server, setup] of servers.entries()) {
      const { region } = setup
      const machines = setup.delaysMs.map((delay) =>
        serverTimeline(world, steps, { provider, server, delay, region }, cache),
      )
      const name = nameOfServer(world, provider, server)
      machinesOf.set(name, machines)
      if (setup.isUdpOnly && world.truncates) truncating.add(name)
      const { loss } = world
      hosts.push({
        ip: ipOfServer(world, provider, server),
        name,
        services: [{ zone: ZONE, machines }],
        ...(loss > 0 ? { loss } : {}),
        ...(setup.perSecond === undefined ? {} : { perSecond: setup.perSecond }),
        ...(setup.isUdpOnly && world.truncates ? { isTruncating: true as const } : {}),
      })
    }
  }
  const timelines = [...parents, ...[...machinesOf.values()].flat()]
  const signatures = [
    ...world.publications,
    ...steps.flatMap((step) => ('publication' in step ? step.publication : [])),
  ]
  const ends = [
    ...signatures.flatMap(({ signedBy }) => (signedBy ? [signedBy.from, signedBy.until] : [])),
    ...(world.parentExpiry ? [world.parentExpiry.from] : []),
  ]
  const instants = [...new Set([0, ...timelines.flatMap((timeline) => timeline.map(({ from }) => from)), ...ends])]
  const privateIps = world.privateZone ? world.providers[0]!.map((_, server) => ipOfServer(world, 0, server)) : []
  return {
    hosts: new Map(hosts.map((host) => [host.ip, host])),
    parents,
    machinesOf,
    truncating,
    privateIps,
    instants: instants.filter((at) => at >= 0).sort((one, other) => one - other),
  }
}

// The registry

function parentTimeline(world: World, steps: readonly Step[], delay: number): Timeline {
  let delegation: readonly number[] | null = publicDelegation(world)
  let { ds } = world
  const expiry = world.parentExpiry
  let until = expiry?.from
  const timeline = [{ from: 0, content: tldZone(world, delegation, ds, until) as Content }]
  const renewal = expiry ? [{ at: expiry.to, isRenewal: true as const }] : []
  for (const step of [...steps, ...renewal].sort((one, other) => one.at - other.at)) {
    if (world.privateZone || !('delegation' in step || 'ds' in step || 'isRenewal' in step)) continue
    if ('delegation' in step) delegation = step.delegation
    else if ('ds' in step) ds = step.ds
    else until = Number.MAX_SAFE_INTEGER
    timeline.push({ from: step.at + delay, content: tldZone(world, delegation, ds, until) })
  }
  return timeline
}

/** The public version of a private zone is that of the second provider. */
function publicDelegation({ privateZone, delegation }: World): readonly number[] | null {
  if (privateZone === undefined) return delegation
  return privateZone === 'denied' ? null : [1]
}

/** `until`: when the signatures expire. Undefined if the zone is not signed. */
function tldZone(
  world: World,
  delegation: readonly number[] | null,
  ds: readonly string[],
  until: number | undefined,
): ZoneData {
  const records: ZoneRRset[] = [
    ...apexOf(PARENT, TLD_IPS.slice(0, world.parentDelaysMs.length)),
    ...glueFor(ALIAS_ZONE),
  ]
  if (delegation) {
    records.push(ns(ZONE, world.delegationTtl, serversOf(world, delegation)), ...vanityAddresses(world, delegation))
    if (ds.length > 0) records.push({ name: ZONE, type: 'DS', ttl: world.delegationTtl, values: ds })
  }
  if (until !== undefined) records.push({ name: PARENT, type: 'DNSKEY', ttl: 3_600, values: [PARENT_KEY] })
  const signature = { key: PARENT_KEY, from: -Number.MAX_SAFE_INTEGER, until: until ?? 0 }
  // Delegations and glue have no signatures. RFC 4035 section 2.2.
  const isOwn = ({ name, type }: RRset) =>
    type === 'DS' || name === PARENT || (parentOf(name) === PARENT && type === 'A')
  const signed = until === undefined ? records : records.map((one) => (isOwn(one) ? { ...one, signature } : one))
  return newZone(PARENT, { ttl: 900, minimum: 900 }, signed)
}

function serversOf(world: World, providers: readonly number[]): string[] {
  return providers.flatMap((provider) =>
    world.providers[provider]!.map((_, server) => nameOfServer(world, provider, server)),
  )
}

function vanityAddresses(world: World, providers: readonly number[]): RRset[] {
  if (!world.isVanity || !providers.includes(0)) return []
  return world.providers[0]!.map((_, server) =>
    address(nameOfServer(world, 0, server), world.nsTtl, ipOfServer(world, 0, server)),
  )
}

// The providers

type Machine = { provider: number; server: number; delay: number; region: string | undefined }

/** What one machine answers. A publication that overtakes an earlier one wins. */
function serverTimeline(
  world: World,
  steps: readonly Step[],
  { provider, server, delay, region }: Machine,
  cache: Map<string, ZoneData>,
): Timeline {
  const effects = effectsOf(steps, provider, server, delay).sort((one, other) => one.from - other.from)
  let publication = world.publications[provider]!
  let status: ServerStatus = 'ok'
  let last = -1
  const contentNow = () => contentOf(world, provider, inRegion(publication, region), cache)
  const timeline = [{ from: 0, content: contentNow() }]
  for (const effect of effects) {
    if (effect.publication) {
      if (effect.order < last) continue
      last = effect.order
      publication = effect.publication
    }
    status = effect.status ?? status
    const failure = status === 'expired' ? 'servfail' : status === 'silent' || status === 'refused' ? status : undefined
    timeline.push({ from: effect.from, content: failure ?? contentNow() })
  }
  return timeline
}

/** A server in another region answers its own value instead of the records. */
function inRegion(publication: Publication, region: string | undefined): Publication {
  if (region === undefined || publication.content !== 'records') return publication
  return { ...publication, members: [{ value: region, weight: 1 }], size: 1, isAlias: false }
}

type Effect = { from: number; order: number; publication?: Publication; status?: ServerStatus }

function effectsOf(steps: readonly Step[], provider: number, server: number, delay: number): Effect[] {
  const effects: Effect[] = []
  let latest: { publication: Publication; order: number } | undefined
  let isStuck = false
  for (const [order, step] of steps.entries()) {
    if (!('provider' in step) || step.provider !== provider) continue
    if ('publication' in step) {
      latest = { publication: step.publication, order }
      if (!isStuck) effects.push({ from: step.at + delay, ...latest })
    } else if (step.server === server) {
      // A secondary that works again takes the latest version.
      if (isStuck && latest) effects.push({ from: step.at + delay, ...latest })
      isStuck = step.status === 'stuck'
      effects.push({ from: step.at, order, status: isStuck ? 'ok' : step.status })
    }
  }
  return effects
}

function contentOf(world: World, provider: number, publication: Publication, cache: Map<string, ZoneData>): Content {
  const { content } = publication
  if (content === 'refused' || content === 'servfail' || content === 'silent' || content === 'upward') return content
  const key = JSON.stringify(publication)
  const known = cache.get(key)
  if (known) return known
  const zone = zoneOf(world, provider, publication)
  cache.set(key, zone)
  return zone
}

function zoneOf(world: World, provider: number, publication: Publication): ZoneData {
  const { signedBy, content } = publication
  const signature: Signature | undefined = signedBy
  const records: ZoneRRset[] = [
    ns(ZONE, world.nsTtl, serversOf(world, publication.ns)),
    ...vanityAddresses(world, publication.ns),
    ...ownerRecords(world, publication),
  ]
  if (signedBy)
    records.push({ name: ZONE, type: 'DNSKEY', ttl: 3_600, values: [signedBy.key, ...(publication.moreKeys ?? [])] })
  const signed = signature ? records.map((record) => ({ ...record, signature })) : records
  const wildcard = content === 'parked' ? [PARKED] : undefined
  return newZone(ZONE, { ttl: world.negativeTtl, minimum: world.negativeTtl, serial: provider }, signed, wildcard)
}

export function ownerOf({ recordType }: Pick<World, 'recordType'>): string {
  return recordType === 'NS' ? ZONE : OWNER
}

function ownerRecords(world: World, { content, members, size, isAlias }: Publication): ZoneRRset[] {
  const { recordType: type, ttl } = world
  if (type === 'NS' || content === 'nxdomain' || content === 'parked') return []
  if (content === 'nodata') return [{ name: OWNER, type: type === 'TXT' ? 'A' : 'TXT', ttl, values: ['192.0.2.253'] }]
  if (isAlias) return [{ name: OWNER, type: 'CNAME', ttl, values: [aliasOf(members)] }]
  const values = members.map(({ value }) => value).sort()
  const isRegional = world.resolvers.some(({ region }) => region !== '')
  const regions = isRegional ? { regions: { [OTHER_REGION]: [regionalValue(type)] } } : {}
  return [{ name: OWNER, type, ttl, values, members, size, ...regions }]
}

/** The name in another zone that has these records. */
function aliasOf(members: Publication['members']): string {
  // A name has at most 255 octets, whatever the number of members.
  const digest = hash('sha256', members.map(({ value }) => value).join(' '))
  return `${digest.slice(0, 16)}.${ALIAS_ZONE}`
}

// What never changes

function staticHosts(world: World): Host[] {
  const top = [
    ns(
      'demo',
      2 * DAY_S,
      TLD_IPS.slice(0, world.parentDelaysMs.length).map((_, index) => `ns${index + 1}.demo`),
    ),
    ...TLD_IPS.map((ip, index) => address(`ns${index + 1}.demo`, 2 * DAY_S, ip)),
    ...['hosting', 'well'].flatMap((zone) => glueFor(zone)),
    ...(world.parentExpiry ? [{ name: PARENT, type: 'DS' as const, ttl: DAY_S, values: [PARENT_KEY] }] : []),
  ]
  const root = newZone('', { ttl: DAY_S, minimum: DAY_S }, [...apexOf('', ROOT_IPS), ...top])
  const servers = world.providers.flatMap((list, provider) =>
    list.map((_, server) =>
      address(nameOfServer({ isVanity: false }, provider, server), DAY_S, ipOfServer(world, provider, server)),
    ),
  )
  const hosting = newZone('hosting', { ttl: 900, minimum: 900 }, [...apexOf('hosting', STATIC_IPS), ...servers])
  const well = newZone('well', { ttl: 60, minimum: 60 }, [
    ...apexOf('well', STATIC_IPS),
    address(CANARY, 60, '9.9.0.1'),
  ])
  const published = [
    ...world.publications,
    ...stepsOf(world).flatMap((step) => ('publication' in step ? step.publication : [])),
  ]
  const targets = new Map<string, ZoneRRset>()
  for (const { isAlias, members, size } of published) {
    if (!isAlias) continue
    const name = aliasOf(members)
    targets.set(name, {
      name,
      type: world.recordType,
      ttl: world.ttl,
      values: members.map(({ value }) => value).sort(),
      members,
      size,
    })
  }
  const alias = newZone(ALIAS_ZONE, { ttl: 300, minimum: 300 }, [
    ...apexOf(ALIAS_ZONE, STATIC_IPS),
    ...targets.values(),
  ])
  const always = (zone: ZoneData) => ({ zone: zone.origin, machines: [[{ from: 0, content: zone }]] })
  return [
    ...ROOT_IPS.map((ip, index) => ({ ip, name: `${'abcd'[index]}.root`, services: [always(root)] })),
    ...STATIC_IPS.map((ip, index) => ({
      ip,
      name: `ns${index + 1}.static.hosting`,
      services: [hosting, well, alias].map(always),
    })),
  ]
}

const address = (name: string, ttl: number, ip: string): RRset => ({ name, type: 'A', ttl, values: [ip] })
const ns = (name: string, ttl: number, values: readonly string[]): RRset => ({ name, type: 'NS', ttl, values })

/** The apex of a zone that never changes, with its servers. */
function apexOf(zone: string, ips: readonly string[]): RRset[] {
  const name = (index: number) =>
    zone === '' ? `${'abcd'[index]}.root` : zone === 'demo' ? `ns${index + 1}.demo` : staticName(index)
  const isInside = zone === '' || zone === 'demo' || zone === 'hosting'
  const addresses = isInside ? ips.map((ip, index) => address(name(index), 2 * DAY_S, ip)) : []
  return [
    ns(
      zone,
      2 * DAY_S,
      ips.map((_, index) => name(index)),
    ),
    ...addresses,
  ]
}

const staticName = (index: number) => `ns${index + 1}.static.hosting`

/** A delegation to the servers that never change. */
function glueFor(zone: string): RRset[] {
  const addresses = zone === 'hosting' ? STATIC_IPS.map((ip, index) => address(staticName(index), 2 * DAY_S, ip)) : []
  return [
    ns(
      zone,
      2 * DAY_S,
      STATIC_IPS.map((_, index) => staticName(index)),
    ),
    ...addresses,
  ]
}
