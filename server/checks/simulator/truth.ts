import type { MonitorState } from '#contract/monitors.ts'
import type { Recorded } from '../check.ts'
import { MOST_MEMBERS } from '../rotation.ts'
import { judge } from '../verdict.ts'
import { OWNER } from './network.ts'
import { type Period, periodAt, type World } from './world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** An event of the monitor, and when the check that made it began. */
export type Event = { at: number; state: MonitorState; values: readonly string[] | undefined; startedAt: number }

/** How long a change lasts at least for us to be held to find it: longer where it shows only in many answers. */
export function patience(world: World, period: Period): number {
  const isRotating =
    period.size < period.members.length || world.periods.some(({ members, size }) => size < members.length)
  const checks = isRotating ? 100 : 6
  return checks * world.frequency * MINUTE + 2 * HOUR
}

export function isDisturbed({ outages, captive, closed }: World, from: number, until: number): boolean {
  return [...outages, ...captive, ...closed].some((window) => window.from < until && window.to > from)
}

/** From when an observer of all servers could know of the period. */
export function knowableAt(world: World, period: Period): number {
  const slowest = Math.max(...world.nameServers.flatMap(({ delays }) => delays))
  return period.from + slowest + (world.roots ? cacheTime(world, period) : 2 * cacheTime(world, period))
}

/** A resolver goes on giving the old answer, or the absence of one. */
export function cacheTime(world: World, period: Period): number {
  return Math.max(world.ttl, period.from === 0 ? 0 : 60) * 1_000
}

// Truth

const RARE = 0.045

/** Members that come with at least so many of the answers. */
function usualMembers(period: Period, least = RARE): string[] {
  const total = period.members.reduce((sum, { weight }) => sum + weight, 0)
  return period.members
    .filter(
      ({ weight }) =>
        (weight * period.size) / total >= (least > RARE ? Math.min(least, 0.999 / period.members.length) : least),
    )
    .map(({ value }) => value)
}

function trueState(world: World, period: Period, values: readonly string[]): MonitorState {
  switch (period.kind) {
    case 'records':
      return stateOf(world, values)
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

function stateOf(world: World, values: readonly string[]): MonitorState {
  const rrset = { name: OWNER, type: 'A' as const, ttl: world.ttl, values: [...values].sort() }
  return judge(newRecorded(world), { kind: 'answer', rrset, chain: [] }).state
}

const FAILURES: readonly MonitorState[] = ['TIMEOUT', 'INVALID', 'BAD_SETUP']

export function isFound(world: World, period: Period, { state, values }: Recorded): boolean {
  const all = period.members.map(({ value }) => value)
  if (period.kind !== 'records') {
    const wanted = trueState(world, period, all)
    return FAILURES.includes(wanted) ? FAILURES.includes(state) : state === wanted
  }
  if (world.geo !== undefined && !world.roots) return state === stateOf(world, [world.geo])
  // A rarer member may not have been given to us yet.
  const usual = usualMembers(period, 0.2)
  const isComplete =
    usual.every((value) => values?.includes(value)) && (values ?? []).every((value) => all.includes(value))
  return isComplete && state === stateOf(world, values ?? [])
}

/** Undefined where the event is true of some instant that it may speak of, else what is false. */
export function falseEvent(world: World, given: ReadonlyMap<string, number>, event: Event): string | undefined {
  const { at, startedAt, state, values } = event
  if (undecidable(world)) return undefined
  const slowest = Math.max(...world.nameServers.flatMap(({ delays }) => delays))
  const back = slowest + (at - startedAt) + (world.roots ? 1_000 : 2 * Math.max(world.ttl, 60) * 1_000)
  const current = periodAt(world.periods, at)
  const isCloseTo = (period: Period) =>
    period === current ||
    world.periods.some((one, place) => {
      return one.from > startedAt - back && one.from <= at && world.periods[place - 1] === period
    })
  const periods = world.periods.filter(isCloseTo)
  const isStale = world.nameServers.some(({ status }) => status === 'stale')
  if (isStale) periods.push(world.periods[0]!)
  // Caches answer for a zone that fails, until its records expire.
  if (current.kind === 'dead' || current.kind === 'broken')
    periods.push(
      ...world.periods.filter((one, place) => {
        return (
          world.periods[place + 1] === current &&
          at - current.from < slowest + 2 * world.ttl * 1_000 &&
          one.kind === 'records'
        )
      }),
    )
  if (state === 'VALID' || state === 'MISMATCH') {
    const records = periods.filter(({ kind }) => kind === 'records' || kind === 'bogus')
    if (records.length === 0) return `${state}, but the zone has no records`
    const served = new Set(records.flatMap(({ members }) => members.map(({ value }) => value)))
    if (world.geo !== undefined) served.add(world.geo)
    const rotates = world.periods.some(({ members, size }) => size < members.length)
    const horizon = rotates ? memoryOf(world) : 0
    const extra = values!.filter(
      (value) => !served.has(value) && !((given.get(value) ?? Number.NEGATIVE_INFINITY) >= at - horizon),
    )
    if (extra.length > 0) return `${extra.join(' ')} is not given any more, or never was`
    if (state === 'VALID') return undefined
    const isUnexpected = world.isExactMatch && values!.some((value) => !world.expected.includes(value))
    const isTrue = records.some((period) => stateOf(world, usualMembers(period)) === 'MISMATCH')
    return isUnexpected || isTrue ? undefined : 'MISMATCH, but every expected value is still given'
  }
  const isTrue = periods.some((period) => {
    const wanted = trueState(world, period, [])
    return FAILURES.includes(wanted) ? FAILURES.includes(state) : wanted === state
  })
  return isTrue ? undefined : `${state}, but the zone has ${periods.map(({ kind }) => kind).join(' or ')}`
}

/** A member of a rotating RRset may be kept for so long after it was given last. */
function memoryOf(world: World): number {
  return patience(world, world.periods[0]!) * 2
}

/** Where no strategy can be right, and why. The rules for these are in docs/checks.md. */
export function undecidable(world: World): string | undefined {
  const { roots, nameServers, resolvers, periods, poisoned } = world
  const working = nameServers.filter(({ status }) => status === 'ok').length
  const stale = nameServers.filter(({ status }) => status === 'stale').length
  const rotates = periods.some(({ members, size }) => size < members.length)
  if (stale > 0 && (working <= stale + 1 || !roots)) return 'name servers that disagree for good'
  if (periods.some((period) => usualMembers(period).length < period.members.length))
    return 'members that are given too seldom'
  if (!roots && rotates) return 'a rotation seen through caches'
  if (!roots && poisoned.length > 0) return 'a forged answer in the cache of the only resolvers'
  if ((!roots || world.closed.length > 0 || periods.some(({ kind }) => kind !== 'records')) && world.geo !== undefined)
    return 'resolvers in another region'
  if (!roots && resolvers.some(({ status }) => status === 'lies') && resolvers.length < 4) return 'resolvers that lie'
  if (!world.canaries && (world.outages.length > 0 || world.captive.length > 0))
    return 'an outage of our own without canaries'
  const isZoneGone = world.closed.length > 0 || periods.some(({ kind }) => kind !== 'records')
  if (resolvers.filter(({ status }) => status === 'ok').length === 1 && poisoned.length > 0 && isZoneGone)
    return 'a forged answer in the cache of the only resolver'
  if (periods.some(({ members }) => members.length > MOST_MEMBERS)) return 'more members than are told apart'
  if (!world.isExactMatch && periods.some((period) => isHidden(world, period)))
    return 'a rare member that nothing hints at'
  if (world.closed.length > 0 && rotates) return 'a rotation seen through caches'
  if (stale > 0 && rotates) return 'name servers that disagree for good'
  return undefined
}

/** In flexible mode other members say nothing of the one that is expected. */
function isHidden({ expected }: World, period: Period): boolean {
  const usual = usualMembers(period, 0.25)
  const wanted = period.members.filter(({ value }) => expected.includes(value))
  return period.size < period.members.length && wanted.length > 0 && wanted.every(({ value }) => !usual.includes(value))
}

export function newRecorded(world: World): Recorded {
  return {
    owner: OWNER,
    recordType: world.recordType,
    isExactMatch: world.isExactMatch,
    expectedValues: world.expected,
    state: 'UNSET',
    values: null,
    fingerprint: null,
    isRotating: false,
    rotation: null,
    inconclusive: 0,
  }
}
