import { atTime, type Content, type Timeline } from '../dns/host.ts'
import { type RecordType, type RRset, response } from '../dns/message.ts'
import { checkSignature } from '../dns/validation.ts'
import { answerFromZone, type Member, type ZoneData, type ZoneRRset } from '../dns/zone.ts'
import { type Internet, ownerOf } from './internet.ts'
import { PARENT, PARENT_KEY, type World, ZONE } from './world.ts'

/** What one server publishes for the monitored name. `values`: all members, sorted. `isBogus`: a validator refuses it. */
export type Published =
  | PublishedRecords
  | { kind: 'nxdomain'; isBogus: boolean }
  | { kind: 'nodata'; isBogus: boolean }
  | { kind: 'failing' }

export type PublishedRecords = {
  kind: 'records'
  values: readonly string[]
  members: readonly Member[]
  size: number
  isBogus: boolean
}

export type Vote = { published: Published; servers: number }

/**
 * The true state between two instants: what the servers publish that the parent zone delegates to. `decided`: what most of those
 * that work publish, if they are at least half of all. `votes`: everything that is published, most frequent first.
 */
export type Truth = {
  from: number
  to: number
  votes: readonly Vote[]
  delegated: number
  decided: Published | undefined
  /** Servers of the parent zone, or the machines of a server, differ. */
  isSpreading: boolean
}

/** The true states of the world, in their order. Neighbours differ. */
export function truthsOf(world: World, internet: Internet): Truth[] {
  const end = world.days * 24 * 3_600_000
  const truths: Truth[] = []
  for (const from of internet.instants) {
    if (from >= end) break
    const truth = truthAt(world, internet, from, end)
    const last = truths.at(-1)
    if (last && isSameTruth(last, truth)) continue
    if (last) last.to = from
    truths.push(truth)
  }
  return truths
}

export function truthAt(world: World, internet: Internet, at: number, to: number): Truth {
  const says = internet.parents.map((timeline) => parentSays(timeline, at))
  const groups = [...Map.groupBy(says, ({ key }) => key).values()].sort((one, other) => other.length - one.length)
  const isParentDecided = world.privateZone !== undefined || groups[0]!.length * 2 > says.length
  const answers = world.privateZone ? [privateServers(internet)] : groups.map(([first]) => first!)
  const published = answers.slice(0, isParentDecided ? 1 : undefined).map((one) => votesOf(world, internet, one, at))
  const [first] = published
  const votes = published.length === 1 ? first!.votes : published.flatMap((one) => one.votes)
  return {
    from: at,
    to,
    votes,
    delegated: first!.delegated,
    decided: published.length === 1 ? decide(first!) : undefined,
    isSpreading: groups.length > 1 || published.some(({ isSpreading }) => isSpreading),
  }
}

/** `isBogus`: a validator refuses everything below the parent zone. */
type Delegation = { key: string; servers: readonly string[] | undefined; ds: readonly string[]; isBogus: boolean }
type Votes = { votes: Vote[]; delegated: number; isSpreading: boolean }

function parentSays(timeline: Timeline, at: number): Delegation {
  const zone = atTime(timeline, at) as ZoneData
  const servers = zone.rrsets.get(`${ZONE} NS`)?.values
  const ds = zone.rrsets.get(`${ZONE} DS`)?.values ?? []
  const keys = zone.rrsets.get(`${PARENT} DNSKEY`)
  const isBogus = keys !== undefined && checkSignature(keys, [PARENT_KEY], at) !== undefined
  return { key: `${servers?.join(' ') ?? '-'} ${ds.join(' ')}${isBogus ? ' bogus' : ''}`, servers, ds, isBogus }
}

function privateServers({ machinesOf, privateIps }: Internet): Delegation {
  return { key: '', servers: [...machinesOf.keys()].slice(0, privateIps.length), ds: [], isBogus: false }
}

function votesOf(world: World, internet: Internet, delegation: Delegation, at: number): Votes {
  const { servers, isBogus } = delegation
  if (!servers)
    return {
      votes: [{ published: { kind: 'nxdomain', isBogus }, servers: 1 }],
      delegated: 1,
      isSpreading: false,
    }
  const votes: Vote[] = []
  let isSpreading = false
  for (const server of servers) {
    const machines = internet.machinesOf.get(server) ?? []
    const published = machines.map((timeline) =>
      publishedBy(world, internet, server, atTime(timeline, at), delegation, at),
    )
    const first = published[0] ?? { kind: 'failing' as const }
    if (published.some((one) => !isSamePublished(one, first))) {
      isSpreading = true
      for (const one of published) addVote(votes, one, 1 / published.length)
    } else addVote(votes, first, 1)
  }
  return { votes: votes.sort((one, other) => other.servers - one.servers), delegated: servers.length, isSpreading }
}

function addVote(votes: Vote[], published: Published, servers: number): void {
  const same = votes.find((vote) => isSamePublished(vote.published, published))
  if (same) same.servers += servers
  else votes.push({ published, servers })
}

/**
 * What most of the working servers publish. Undefined on a tie, or if fewer than half of all work. A validating resolver that
 * receives a bogus answer queries the next server, so an answer is bogus only if all are.
 */
function decide({ votes, delegated }: Votes): Published | undefined {
  const answering = votes.filter(({ published }) => published.kind !== 'failing')
  const valid = answering.filter(({ published }) => published.kind === 'failing' || !published.isBogus)
  const working = valid.length > 0 ? valid : answering
  const count = sum(working)
  if (count === 0) return { kind: 'failing' }
  if (sum(answering) * 2 < delegated) return undefined
  const [first] = working
  return first!.servers * 2 > count ? first!.published : undefined
}

const sum = (votes: readonly Vote[]) => votes.reduce((total, { servers }) => total + servers, 0)

function publishedBy(
  world: World,
  internet: Internet,
  server: string,
  content: Content,
  { ds, isBogus: isBogusAbove }: Delegation,
  at: number,
): Published {
  if (typeof content === 'string') return { kind: 'failing' }
  const type: RecordType = world.recordType
  const whole = (rrset: ZoneRRset): RRset => rrset
  let reply = answerFromZone(content, { name: ownerOf(world), type }, '', whole)
  const isBogus = isBogusAbove || (ds.length > 0 && isBogusIn(content, ds, [...reply.answer, ...reply.authority], at))
  const last = reply.answer.at(-1)
  if (last?.type === 'CNAME' && type !== 'CNAME') reply = followAlias(internet, last.values[0]!, type) ?? reply
  const records = reply.answer.findLast((rrset) => rrset.type === type) as ZoneRRset | undefined
  if (reply.answer.length > 0 && internet.truncating.has(server)) return { kind: 'failing' }
  if (!records) return { kind: reply.rcode === 'NXDOMAIN' ? 'nxdomain' : 'nodata', isBogus }
  const members = records.members ?? records.values.map((value) => ({ value, weight: 1 }))
  return { kind: 'records', values: [...records.values].sort(), members, size: records.size ?? members.length, isBogus }
}

/** The zone of aliases never changes. */
function followAlias({ hosts }: Internet, name: string, type: RecordType) {
  const host = [...hosts.values()].find(({ services }) => services.some(({ zone }) => zone === 'cdn.demo'))
  const zone = host?.services.find(({ zone }) => zone === 'cdn.demo')?.machines[0]?.[0]?.content
  return zone && typeof zone !== 'string'
    ? answerFromZone(zone, { name, type }, '', (rrset) => rrset)
    : response('SERVFAIL', false)
}

function isBogusIn(zone: ZoneData, ds: readonly string[], parts: readonly RRset[], at: number): boolean {
  const keys = zone.rrsets.get(`${ZONE} DNSKEY`)
  if (!keys?.values.some((key) => ds.includes(key)) || checkSignature(keys, ds, at) !== undefined) return true
  const own = parts.filter(({ name, type }) => name.endsWith(ZONE) && type !== 'NS')
  return own.some((rrset) => checkSignature(rrset, keys.values, at) !== undefined)
}

export function isSamePublished(one: Published, other: Published): boolean {
  if (one === other) return true
  if (one.kind !== other.kind) return false
  if (one.kind === 'failing' || other.kind === 'failing') return true
  if (one.isBogus !== other.isBogus) return false
  if (one.kind !== 'records' || other.kind !== 'records') return true
  return one.values.join(' ') === other.values.join(' ') && one.size === other.size
}

function isSameTruth(one: Truth, other: Truth): boolean {
  if (one.votes.length !== other.votes.length || one.delegated !== other.delegated) return false
  if (one.isSpreading !== other.isSpreading || (one.decided === undefined) !== (other.decided === undefined))
    return false
  return one.votes.every(({ published, servers }, index) => {
    const vote = other.votes[index]!
    return servers === vote.servers && isSamePublished(published, vote.published)
  })
}

// States

export type State = 'VALID' | 'MISMATCH' | 'NOT_FOUND' | 'NO_DATA' | 'INVALID' | 'TIMEOUT' | 'BAD_SETUP'

/** The monitor's state for these values, as docs/reference/matching.md defines it for plain values. */
export function stateOfValues({ isExactMatch, expected }: World, values: readonly string[]): State {
  const isComplete = expected.every((value) => values.includes(value))
  return isComplete && (!isExactMatch || values.length === expected.length) ? 'VALID' : 'MISMATCH'
}

/** A failure may show as any of these, depending on which server fails in which way. */
export const FAILURES: readonly string[] = ['INVALID', 'TIMEOUT', 'BAD_SETUP']
