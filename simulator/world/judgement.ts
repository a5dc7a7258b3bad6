import { MODELS } from '../dns/policies.ts'
import {
  FAILURES,
  isSamePublished,
  type Published,
  type PublishedRecords,
  type State,
  stateOfValues,
  type Truth,
} from './truth.ts'
import { HOUR, MINUTE, rotates, stepsOf, type World } from './world.ts'

/** What a monitor records. */
export type RecordedState = { state: string; values: readonly string[] | null }

/** An event of the monitor. `startedAt`: when its check began. */
export type JudgedEvent = { at: number; startedAt: number; state: State; values: readonly string[] | undefined }

/** Checks after 30, 60 and 120 s confirm a change, and the checks themselves take time. */
export const CONFIRMATION_MS = 10 * MINUTE
/** How many answers prove a change of a rotating RRset. */
const ROTATION_CHECKS = 40

type BoundOf = Pick<TrueChange, 'isOfRotation' | 'isOfDnssec'> & Partial<Pick<TrueChange, 'from'>>

/**
 * The documented bound: how long after a change it is recorded at the latest. Through caches, their TTLs come on top. Only
 * resolvers validate, one after the other, so this holds for DNSSEC too.
 */
export function boundOf(world: World, change: BoundOf, isHidden = isSourceHidden(world)): number {
  const { isOfRotation, isOfDnssec } = change
  const interval = world.frequency * MINUTE
  const viaResolvers = !isOfDnssec ? 0 : hasNewDs(world, change) ? cacheLifetime(world) : recordLifetime(world)
  const viaCaches = isHidden ? cacheLifetime(world) : viaResolvers
  const inTurn = isOfDnssec ? world.resolvers.length * interval : 0
  return interval + HOUR + CONFIRMATION_MS + viaCaches + inTurn + (isOfRotation ? ROTATION_CHECKS * interval : 0)
}

/** Whether the DS records changed, which resolvers keep for as long as the delegation. */
function hasNewDs(world: World, { from = 0 }: BoundOf): boolean {
  return stepsOf(world).some((step) => 'ds' in step && step.at <= from && step.at > from - CONFIRMATION_MS)
}

/** Whether only resolvers can be queried, always or within the time. */
export function isSourceHidden(
  { roots, closed, privateZone, resolution }: World,
  from = 0,
  to = Number.MAX_VALUE,
): boolean {
  const isClosed = closed.some((range) => range.from < to && range.to > from)
  return !roots || isClosed || privateZone !== undefined || resolution === 'resolvers'
}

/** How long after a change a resolver may answer as before: the record, and the delegation before it. */
export function cacheLifetime(world: World): number {
  const delegation = world.privateZone ? 0 : Math.max(world.delegationTtl, world.nsTtl)
  return recordLifetime(world) + 1_000 * delegation
}

/** How long a resolver keeps a record, a denial or a key. */
function recordLifetime(world: World): number {
  const lifetimes = world.resolvers.map(({ model }) => {
    const { minTtl, serveStale } = MODELS[model]!
    const ttl = world.recordType === 'NS' ? world.nsTtl : world.ttl
    return Math.max(ttl, world.negativeTtl, minTtl, KEY_TTL) + (serveStale?.maxStaleSeconds ?? 0)
  })
  return 1_000 * Math.max(...lifetimes)
}

/** Of the DNSKEY records of the worlds, in seconds. */
const KEY_TTL = 3_600

export function isRotatingWorld(world: World): boolean {
  return [
    ...world.publications,
    ...stepsOf(world).flatMap((step) => ('publication' in step ? step.publication : [])),
  ].some(rotates)
}

/** Members that are in a smaller share of the answers than this may not have been seen. */
const RARE = 0.045

/** The members that are in at least this share of the answers. */
export function usualMembers({ members, size }: Pick<PublishedRecords, 'members' | 'size'>, share = RARE) {
  const total = members.reduce((sum, { weight }) => sum + weight, 0)
  return members
    .filter(({ weight }) => size >= members.length || (weight * size) / total >= share)
    .map(({ value }) => value)
}

/** Whether the monitor records this. A rotation may lack members that are in few answers. */
export function isRecorded(world: World, published: Published, { state, values }: RecordedState): boolean {
  if (published.kind === 'failing' || published.isBogus) return FAILURES.includes(state)
  if (published.kind === 'nxdomain') return state === 'NOT_FOUND'
  if (published.kind === 'nodata') return state === 'NO_DATA'
  if (values === null || state !== stateOfValues(world, values)) return false
  const usual = usualMembers(published, 0.2)
  return usual.every((value) => values.includes(value)) && values.every((value) => published.values.includes(value))
}

/** Why the event is false. Undefined if a server that counts published it during the check. */
export function falseEvent(world: World, truths: readonly Truth[], event: JudgedEvent): string | undefined {
  const { at, startedAt, state, values } = event
  const slack = 10_000 + (isSourceHidden(world, startedAt, at) ? cacheLifetime(world) : 0)
  const current = truths.filter(({ from, to }) => from <= at && to > startedAt - slack)
  const candidates = current.flatMap(permittedIn)
  if (candidates.some((published) => isTrue(world, published, state, values))) return undefined
  if (isRotatingWorld(world) && isPartlyTrue(world, truths, event)) return undefined
  const texts = new Set(candidates.map(textOf))
  return `${state} ${values?.join(' ') ?? ''}, but the servers publish ${[...texts].join(' or ')}`
}

/** What an event may report: what is decided, or anything while nothing is. */
function permittedIn({ votes, decided, isSpreading }: Truth): Published[] {
  if (decided && !isSpreading) return [decided]
  return votes.map(({ published }) => published)
}

function isTrue(world: World, published: Published, state: State, values: readonly string[] | undefined): boolean {
  if (published.kind === 'failing' || published.isBogus) return FAILURES.includes(state)
  if (published.kind === 'nxdomain') return state === 'NOT_FOUND'
  if (published.kind === 'nodata') return state === 'NO_DATA'
  if (!values || state !== stateOfValues(world, values)) return false
  return values.length === published.values.length && values.every((value) => published.values.includes(value))
}

/** How long members of a rotation may stay recorded after they were published last. */
const memberLifetime = (world: World) => 2 * boundOf(world, { isOfRotation: true, isOfDnssec: false })

/** A rotation is seen member by member: each was published lately, and the state does not rest on a member that was missed. */
function isPartlyTrue(world: World, truths: readonly Truth[], { at, state, values }: JudgedEvent): boolean {
  const recent = truths.filter(({ from, to }) => from <= at && to > at - memberLifetime(world))
  const records = recent
    .flatMap(({ votes }) => votes.map(({ published }) => published))
    .filter(({ kind }) => kind === 'records')
  const published = records.filter((one): one is PublishedRecords => one.kind === 'records')
  if (!values || published.length === 0) return false
  const known = new Set(published.flatMap((one) => one.values))
  if (!values.every((value) => known.has(value))) return false
  if (state === 'VALID') return stateOfValues(world, values) === 'VALID'
  if (state !== 'MISMATCH') return false
  const isUnexpected = world.isExactMatch && values.some((value) => !world.expected.includes(value))
  const current = truths.filter(({ from, to }) => from <= at && to > at - 10_000)
  const isMissing = current.some(({ votes }) =>
    votes.some(
      ({ published: one }) => one.kind === 'records' && stateOfValues(world, usualMembers(one)) === 'MISMATCH',
    ),
  )
  return isUnexpected || isMissing
}

export function textOf(published: Published): string {
  if (published.kind === 'failing') return 'nothing (all fail)'
  const bogus = published.isBogus ? ' (bogus)' : ''
  if (published.kind !== 'records') return published.kind + bogus
  const rotation = published.size < published.members.length ? `, ${published.size} at a time` : ''
  return `[${published.values.join(' ')}${rotation}]${bogus}`
}

/** A change of the truth that a monitor must record. `previous`: what was decided before. */
export type TrueChange = {
  from: number
  to: number
  published: Published
  isOfRotation: boolean
  isOfDnssec: boolean
}

/**
 * The lasting states of the world. What is undecided, or lasts for less than its confirmation, belongs to the change that it
 * leads to.
 */
export function changesOf(truths: readonly Truth[]): TrueChange[] {
  const changes: TrueChange[] = []
  let hadBogus = false
  for (const { from, to, decided, votes } of truths) {
    const hasBogus = votes.some(({ published: one }) => one.kind !== 'failing' && one.isBogus)
    if (!decided || to - from < CONFIRMATION_MS) continue
    const last = changes.at(-1)
    if (last && last.to === from && isSamePublished(last.published, decided)) {
      last.to = to
      hadBogus = hasBogus
      continue
    }
    const isOfRotation = [decided, last?.published].some(
      (one) => one?.kind === 'records' && one.size < one.members.length,
    )
    // What is decided may change because the answers of other servers became bogus.
    const isOfDnssec = hasBogus || hadBogus
    hadBogus = hasBogus
    changes.push({ from, to, published: decided, isOfRotation, isOfDnssec })
  }
  return changes
}

/** Time in which nothing can be known does not count. Afterwards the next check may be an interval away. */
export function disturbedMs(world: World, from: number, to: number): number {
  const { outages, captive, closed, frequency } = world
  let sum = 0
  for (const range of [...outages, ...captive, ...closed]) {
    const overlap = Math.min(range.to, to) - Math.max(range.from, from)
    if (overlap > 0) sum += overlap + frequency * MINUTE + CONFIRMATION_MS
  }
  return sum
}
