import type { MonitorState } from '#contract/monitors.ts'
import { recordTypeOf } from '../../monitors/record-types/record-types.ts'
import type { Recorded } from '../check-state.ts'
import { MAX_MEMBERS } from '../rotation.ts'
import { evaluate } from '../verdict.ts'
import { newAnswer, OWNER } from './network.ts'
import { type Period, periodAt, type World } from './world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** An event of the monitor. `startedAt`: when its check began. */
export type SimulatedEvent = {
  at: number
  state: MonitorState
  values: readonly string[] | undefined
  startedAt: number
}

/** A change that lasts longer than this must be detected. A change of a rotating RRset takes more answers, and so longer. */
export function detectionDeadline(world: World, period: Period): number {
  const isRotating =
    period.size < period.members.length || world.periods.some(({ members, size }) => size < members.length)
  const checks = isRotating ? 100 : 6
  return checks * world.frequency * MINUTE + 2 * HOUR
}

export function isDisturbed({ outages, captive, closed }: World, from: number, until: number): boolean {
  return [...outages, ...captive, ...closed].some((window) => window.from < until && window.to > from)
}

/** When an observer of all servers could know that the period began. */
export function visibleFrom(world: World, period: Period): number {
  const slowest = Math.max(...world.nameServers.flatMap(({ delays }) => delays))
  return period.from + slowest + (world.roots ? cacheTime(world, period) : 2 * cacheTime(world, period))
}

/** How long resolvers answer from their caches after the period began. */
function cacheTime(world: World, period: Period): number {
  return Math.max(world.ttl, period.from === 0 ? 0 : 60) * 1_000
}

// The correct state

/** Members that are in a smaller share of the answers are rare. */
const RARE = 0.045

/** The members that are in at least this share of the answers. */
function usualMembers(period: Period, minShare = RARE): string[] {
  const total = period.members.reduce((sum, { weight }) => sum + weight, 0)
  return period.members
    .filter(
      ({ weight }) =>
        (weight * period.size) / total >=
        (minShare > RARE ? Math.min(minShare, 0.999 / period.members.length) : minShare),
    )
    .map(({ value }) => value)
}

function trueState(world: World, period: Period, values: readonly string[]): MonitorState {
  switch (period.kind) {
    case 'records':
      return stateOf(world, period, values)
    case 'nxdomain':
      return 'NOT_FOUND'
    case 'nodata':
      return 'NO_DATA'
    case 'dead':
      return 'TIMEOUT'
    case 'broken':
    case 'bogus':
      return 'INVALID'
  }
}

function stateOf(world: World, { chain = [] }: Pick<Period, 'chain'>, values: readonly string[]): MonitorState {
  return evaluate(newRecorded(world), newAnswer(world, [...values].sort(), chain)).state
}

const FAILURES: readonly MonitorState[] = ['TIMEOUT', 'INVALID', 'BAD_SETUP']

export function isDetected(world: World, period: Period, { state, values }: Recorded): boolean {
  const all = period.members.map(({ value }) => value)
  if (period.kind !== 'records') {
    const expected = trueState(world, period, all)
    return FAILURES.includes(expected) ? FAILURES.includes(state) : state === expected
  }
  if (world.geo !== undefined && !world.roots) return state === stateOf(world, {}, [world.geo])
  // No answer may have contained a rarer member yet.
  const usual = usualMembers(period, 0.2)
  // The values that a stale server of a rotating zone still answers are members too.
  const isStale = rotates(world) && world.nameServers.some(({ status }) => status === 'stale')
  const served = isStale ? [...all, ...world.periods[0]!.members.map(({ value }) => value)] : all
  const isComplete =
    usual.every((value) => values?.includes(value)) && (values ?? []).every((value) => served.includes(value))
  return isComplete && state === stateOf(world, period, values ?? [])
}

/** Why the event is false. Undefined if it is true for an instant that the check saw, or if the rule of an undecidable case permits it. */
export function falseEvent(
  world: World,
  lastServedAt: ReadonlyMap<string, number>,
  event: SimulatedEvent,
): string | undefined {
  const fault = contradiction(world, lastServedAt, event)
  if (fault === undefined) return undefined
  return undecidableCases(world).some(({ permits }) => permits?.(world, event)) ? undefined : fault
}

function contradiction(
  world: World,
  lastServedAt: ReadonlyMap<string, number>,
  event: SimulatedEvent,
): string | undefined {
  const { at, startedAt, state, values } = event
  const slowest = Math.max(...world.nameServers.flatMap(({ delays }) => delays))
  const maxAge = slowest + (at - startedAt) + (world.roots ? 1_000 : 2 * Math.max(world.ttl, 60) * 1_000)
  const current = periodAt(world.periods, at)
  const isRecent = (period: Period) =>
    period === current ||
    world.periods.some((next, index) => {
      return next.from > startedAt - maxAge && next.from <= at && world.periods[index - 1] === period
    })
  const periods = world.periods.filter(isRecent)
  const isStale = world.nameServers.some(({ status }) => status === 'stale')
  if (isStale) periods.push(world.periods[0]!)
  // If the zone fails, caches answer until its records expire.
  if (current.kind === 'dead' || current.kind === 'broken')
    periods.push(
      ...world.periods.filter((period, index) => {
        return (
          world.periods[index + 1] === current &&
          at - current.from < slowest + 2 * world.ttl * 1_000 &&
          period.kind === 'records'
        )
      }),
    )
  if (state === 'VALID' || state === 'MISMATCH') {
    const records = periods.filter(({ kind }) => kind === 'records' || kind === 'bogus')
    if (records.length === 0) return `${state}, but the zone has no records`
    const served = new Set(records.flatMap(({ members }) => members.map(({ value }) => value)))
    if (world.geo !== undefined) served.add(world.geo)
    for (const { region } of world.nameServers) if (region !== undefined) served.add(region)
    const horizon = rotates(world) || rotatesThroughCaches(world) ? memberLifetime(world) : 0
    const extra = values!.filter(
      (value) => !served.has(value) && !((lastServedAt.get(value) ?? Number.NEGATIVE_INFINITY) >= at - horizon),
    )
    if (extra.length > 0) return `${extra.join(' ')} is no longer answered, or never was`
    if (state === 'VALID') return undefined
    const isUnexpected = world.isExactMatch && values!.some((value) => !world.expected.includes(value))
    const isTrue = records.some((period) => {
      const all = period.members.map(({ value }) => value)
      return [usualMembers(period), all].some((members) => stateOf(world, period, members) === 'MISMATCH')
    })
    return isUnexpected || isTrue ? undefined : 'MISMATCH, but every expected value is still answered'
  }
  const isTrue = periods.some((period) => {
    if (period.kind === 'records') return false
    const expected = trueState(world, period, [])
    return FAILURES.includes(expected) ? FAILURES.includes(state) : expected === state
  })
  return isTrue ? undefined : `${state}, but the zone has ${periods.map(({ kind }) => kind).join(' or ')}`
}

/** How long a member of a rotating RRset may remain recorded after it was last answered. */
function memberLifetime(world: World): number {
  return detectionDeadline(world, world.periods[0]!) * 2
}

type Undecidable = {
  /** As in docs/explanation/checks.md. */
  case: string
  /** Of all worlds. A larger share would hide faults. */
  maxPercent: number
  isIn(world: World): boolean
  /** Whether the rule for the case permits a false event. Default: no. */
  permits?(world: World, event: SimulatedEvent): boolean
  /** The most events that the rule allows. */
  maxEvents?(world: World): number | undefined
}

/** The cases in which every strategy can be wrong. docs/explanation/checks.md has the rule for each. No other false event is permitted. */
export const UNDECIDABLE: readonly Undecidable[] = [
  {
    case: 'Name servers of a zone disagree permanently, with as many on each side',
    maxPercent: 5,
    isIn: (world) => {
      const { nameServers, roots } = world
      const working = nameServers.filter(({ status }) => status === 'ok' || status === 'stale')
      const odd = working.filter(({ status, region }) => status === 'stale' || region !== undefined).length
      const isClose = working.length <= 2 * odd + 1 || working.length > MAX_NAME_SERVERS || !roots
      return odd > 0 && (isClose || world.closed.length > 0 || world.truncates === true)
    },
    permits: (world, { state, values }) => state === 'MISMATCH' && areZoneValues(world, values),
    maxEvents: (world) => {
      const { roots, periods, loss, outages, captive, closed } = world
      const isCalm = loss === 0 && outages.length + captive.length + closed.length === 0 && !hasTooManyMembers(world)
      // A very rare member causes a separate event each time that it appears.
      return roots && isCalm && !hasRareMember(world) && periods.length === 1 ? 1 : undefined
    },
  },
  {
    case: 'A member is in less than 5 % of the answers',
    maxPercent: 1,
    isIn: hasRareMember,
    permits: (world, { state, values = [] }) => {
      const isUsual = (value: string) => world.periods.every((period) => usualMembers(period).includes(value))
      const isRare = world.expected.every((value) => values.includes(value) || !isUsual(value))
      return state === 'MISMATCH' && isRare && areZoneValues(world, values)
    },
  },
  {
    case: 'In flexible mode, an expected address of a rotation is so rare that 20 answers do not show it, and nothing suggests a rotation',
    maxPercent: 0.5,
    isIn: (world) => !world.isExactMatch && world.periods.some((period) => isHidden(world, period)),
    permits: (world, { state, values }) => state === 'MISMATCH' && areZoneValues(world, values),
  },
  {
    case: 'An RRset has more than 64 members',
    maxPercent: 0.5,
    isIn: hasTooManyMembers,
  },
  {
    case: 'A rotation is seen only through caches',
    maxPercent: 5,
    isIn: rotatesThroughCaches,
    permits: (world, { state, values }) => state === 'MISMATCH' && areZoneValues(world, values),
  },
  {
    case: "Resolvers receive other records than Zonewatch (another region), while the zone's own servers cannot be queried or fail",
    maxPercent: 2.5,
    isIn: (world) => world.geo !== undefined && isZoneUnavailable(world),
    permits: ({ geo }, { values = [] }) => values.length > 0 && values.every((value) => value === geo),
  },
  {
    case: 'The only working resolver lies or has a forged answer in its cache, and the zone cannot be queried or fails',
    maxPercent: 2,
    isIn: (world) => isMisled(world) && isZoneUnavailable(world),
    permits: (world, { state, values = [] }) => {
      const isForged = world.poisoned.length > 0 && values.some((value) => !areZoneValues(world, [value]))
      return isForged || (state === 'NOT_FOUND' && world.resolvers.some(({ status }) => status === 'lies'))
    },
  },
  {
    case: 'Your own network fails, without `DNS_CANARIES`',
    maxPercent: 1,
    isIn: ({ canaries, outages, captive }) => !canaries && outages.length + captive.length > 0,
    permits: ({ outages, captive }, { startedAt, at }) => {
      return [...outages, ...captive].some(({ from, to }) => from <= at && to >= startedAt - AFTER_OUTAGE)
    },
  },
]

function hasRareMember({ periods }: World): boolean {
  return periods.some((period) => usualMembers(period).length < period.members.length)
}

/** Whether there are more members than a check distinguishes. */
function hasTooManyMembers({ periods, nameServers }: World): boolean {
  const regions = nameServers.filter(({ region }) => region !== undefined).length
  return periods.some(({ members }) => members.length + regions > MAX_MEMBERS)
}

/** The most name servers that a check queries. */
const MAX_NAME_SERVERS = 4
/** How long after an outage its results are corrected. */
const AFTER_OUTAGE = 10 * MINUTE

/** The cases of `UNDECIDABLE` that apply to the world. */
export function undecidableCases(world: World): readonly Undecidable[] {
  return UNDECIDABLE.filter((each) => each.isIn(world))
}

function rotates({ periods }: World): boolean {
  return periods.some(({ members, size }) => size < members.length)
}

/** Whether caches answer in turn what they received from different name servers, such as values of several regions. */
function rotatesThroughCaches(world: World): boolean {
  const isRegional = world.nameServers.some(({ region }) => region !== undefined)
  return (rotates(world) || isRegional) && (!world.roots || world.closed.length > 0)
}

function isZoneUnavailable({ roots, closed, periods, truncates }: World): boolean {
  return !roots || closed.length > 0 || truncates === true || periods.some(({ kind }) => kind !== 'records')
}

function isMisled({ resolvers, poisoned, roots }: World): boolean {
  const working = resolvers.filter(({ status, tcp }) => status === 'ok' && tcp !== false).length
  const hasLiar = resolvers.some(({ status }) => status === 'lies') && resolvers.length < 4
  return (poisoned.length > 0 && (working === 1 || !roots)) || hasLiar
}

function areZoneValues({ periods, nameServers }: World, values: readonly string[] | undefined): boolean {
  const all = new Set(periods.flatMap(({ members }) => members.map(({ value }) => value)))
  for (const { region } of nameServers) if (region !== undefined) all.add(region)
  return values?.every((value) => all.has(value)) ?? false
}

/** Whether all expected members are so rare that a check may not see them. In flexible mode, the other members do not suggest a rotation. */
function isHidden(world: World, period: Period): boolean {
  const usual = usualMembers(period, 0.25)
  // An expected value may be a network.
  const isExpected = (value: string) =>
    world.expected.some((entry) => stateOf({ ...world, expected: [entry] }, {}, [value]) === 'VALID')
  const expected = period.members.filter(({ value }) => isExpected(value))
  const areAllRare = expected.length > 0 && expected.every(({ value }) => !usual.includes(value))
  return period.size < period.members.length && areAllRare
}

export function newRecorded(world: World): Recorded {
  return {
    owner: OWNER,
    recordType: recordTypeOf(world.recordType),
    isExactMatch: world.isExactMatch,
    expectedValues: world.expected,
    state: 'UNSET',
    values: null,
    fingerprint: null,
    isRotating: false,
    rotation: null,
    inconclusiveCount: 0,
  }
}
