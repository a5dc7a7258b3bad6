import type { Observation, Step } from '../check.ts'
import { confirmationText } from '../reasons.ts'
import { decide, isAsRecorded } from '../state-machine.ts'
import { conclude } from '../verdict.ts'
import { createNetwork } from './network.ts'
import { createRandom } from './random.ts'
import {
  detectionDeadline,
  falseEvent,
  isDetected,
  isDisturbed,
  newRecorded,
  undecidableCases,
  visibleFrom,
} from './truth.ts'
import { newWorld, type Period, periodAt, type World } from './world.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const START = Date.UTC(2026, 0, 1)

/** How long a change took to be found: since an observer of all servers could know it, and since the next regular check. */
export type Delay = { sinceVisible: number; sinceCheck: number }

/** What went wrong, or how quickly changes were found. */
export type Report = {
  seed: number
  world: World
  faults: Fault[]
  delays: Delay[]
  checks: number
  queries: number
  events: number
  /** Virtual milliseconds of the longest check. */
  longestMs: number
  /** The cases in which no strategy can be right that this world is. */
  undecidable: string[]
  trace: string[]
}
export type Fault = {
  kind: 'false event' | 'missed change' | 'late change' | 'unfinished check'
  at: number
  what: string
}

/** Runs the rules of a check against the world of a seed for its days. `trace`: keep every query and answer. */
export function simulate(
  seed: number,
  { trace = false, world: given }: { trace?: boolean; world?: World } = {},
): Report {
  const world = given ?? newWorld(seed, createRandom(seed))
  const random = createRandom(seed ^ 0x5eed)
  const network = createNetwork(world, random)
  const setup = { resolvers: network.resolvers, hasAuthoritativeClient: world.roots, hasNetworkCheck: world.canaries }
  const report: Report = {
    seed,
    world,
    faults: [],
    delays: [],
    checks: 0,
    queries: 0,
    events: 0,
    longestMs: 0,
    undecidable: undecidableCases(world).map((each) => each.case),
    trace: [],
  }
  const note = (time: number, text: string) => trace && report.trace.push(`${clockText(time)} ${text}`)
  const end = world.days * DAY
  const interval = world.frequency * MINUTE
  let recorded = newRecorded(world)
  let wall = 0
  const steps = [...world.clockSteps]
  const found = new Set<Period>()
  let time = world.slot
  while (time < end) {
    if (steps.length > 0 && time >= steps[0]!.at) wall += steps.shift()!.by
    report.checks += 1
    const startedAt = time
    const { step, endedAt } = check(time)
    time = endedAt
    report.longestMs = Math.max(report.longestMs, endedAt - startedAt)
    let next = nextSlot(time)
    switch (step.kind) {
      case 'unchanged':
        break
      case 'withheld':
        next = Math.min(next, time + step.afterMs)
        break
      case 'inconclusive':
        next = Math.min(next, time + step.afterMs)
        recorded = { ...recorded, rotation: step.rotation, inconclusiveCount: recorded.inconclusiveCount + 1 }
        break
      case 'verdict': {
        const { recorded: after, event } = conclude(recorded, step)
        recorded = after
        if (!event) break
        report.events += 1
        note(
          time,
          `EVENT ${event.oldState} → ${event.newState} ${event.current?.join(' ') ?? ''} (${confirmationText(step.confirmation)})`,
        )
        const fault = falseEvent(world, network.given, {
          at: time,
          startedAt,
          state: event.newState,
          values: event.current,
        })
        if (fault) report.faults.push({ kind: 'false event', at: time, what: fault })
        break
      }
    }
    const period = periodAt(world.periods, time)
    if (!found.has(period) && isDetected(world, period, recorded)) {
      found.add(period)
      const knowable = Math.max(world.slot, visibleFrom(world, period))
      const check = Math.ceil((knowable - world.slot) / interval) * interval + world.slot
      report.delays.push({ sinceVisible: Math.max(0, time - knowable), sinceCheck: Math.max(0, time - check) })
      noteLate(period, knowable)
    }
    const upcoming = world.periods.find(({ from }) => from > time && from <= next)
    if (upcoming || next >= end) noteMissed(period, upcoming?.from ?? end)
    time = next
  }
  report.queries = network.sent()
  for (const { case: what, maxEvents } of undecidableCases(world)) {
    const most = maxEvents?.(world)
    if (most !== undefined && report.events > most) {
      report.faults.push({
        kind: 'false event',
        at: end,
        what: `${report.events} events, and the rule allows ${most}: ${what}`,
      })
    }
  }
  return report

  function check(begin: number): { step: Exclude<Step, { kind: 'query' }>; endedAt: number } {
    let now = begin
    const observations: Observation[] = []
    for (let round = 0; round < 200; round++) {
      const at = START + now + wall
      const step = decide({ recorded, observations, now: { at, elapsed: now }, setup })
      if (step.kind !== 'query') {
        if (trace && step.kind !== 'unchanged')
          note(now, `${step.kind}${'confirmation' in step ? `: ${confirmationText(step.confirmation)}` : ''}`)
        return { step, endedAt: now }
      }
      let last = now
      for (const query of step.queries) {
        const sentAt = Math.max(now, query.notBefore ?? now)
        const answered = network.answer(query, sentAt)
        const elapsed = sentAt + answered.ms
        last = Math.max(last, elapsed)
        if (trace) note(sentAt, `${describeQuery(query)} ← ${describeResult(answered)}`)
        observations.push(Object.assign(answered, { query, at: START + elapsed + wall, elapsed }) as Observation)
        const first = observations[0]!
        if (observations.length === 1 && 'reply' in first && isAsRecorded(recorded, first.reply)) break
      }
      now = last
    }
    report.faults.push({ kind: 'unfinished check', at: now, what: 'more than 200 rounds of queries' })
    return { step: { kind: 'unchanged' }, endedAt: now }
  }

  function nextSlot(now: number): number {
    return Math.floor((now - world.slot) / interval + 1) * interval + world.slot
  }

  function noteLate(period: Period, knowable: number): void {
    const isLate = time - knowable > detectionDeadline(world, period) && !isDisturbed(world, knowable, time)
    if (!isLate || report.undecidable.length > 0) return
    const what = `${period.kind} ${describePeriod(period)} since ${clockText(period.from)}, found at ${clockText(time)}`
    report.faults.push({ kind: 'late change', at: time, what })
  }

  function noteMissed(period: Period, until: number): void {
    if (found.has(period) || report.undecidable.length > 0) return
    const from = visibleFrom(world, period)
    const isLasting = until - from >= detectionDeadline(world, period) && !isDisturbed(world, from, until)
    if (isLasting) {
      const what = `${period.kind} ${describePeriod(period)} since ${clockText(period.from)}; recorded ${recorded.state} ${recorded.values?.join(' ')}`
      report.faults.push({ kind: 'missed change', at: until, what })
    }
  }
}

// Text

function clockText(time: number): string {
  const day = Math.floor(time / DAY)
  return `day ${day} ${new Date(START + (time % DAY)).toISOString().slice(11, 23)}`
}

function describePeriod({ members, size }: Period): string {
  const values = members.map(({ value, weight }) => (weight === 1 ? value : `${value} (weight ${weight.toFixed(2)})`))
  return `[${values.join(' ')}]${size < members.length ? `, ${size} at a time` : ''}`
}

function describeQuery(query: Observation['query']): string {
  const { purpose } = query
  if ('server' in query) return `${purpose} ${query.server}`
  if ('servers' in query) return `${purpose} ${query.servers.map(({ ip }) => ip).join(',')}`
  return purpose
}

function describeResult(result: object): string {
  if ('reply' in result || 'nameServerReply' in result) {
    const { outcome, nameServer } = (
      'reply' in result ? result.reply : (result as { nameServerReply: unknown }).nameServerReply
    ) as {
      outcome: { kind: string; rrset?: { values: string[]; ttl: number }; rcode?: string }
      nameServer?: string
    }
    const text = outcome.rrset
      ? `${outcome.rrset.values.join(' ')} TTL ${outcome.rrset.ttl}`
      : (outcome.rcode ?? outcome.kind)
    return nameServer ? `${nameServer}: ${text}` : text
  }
  return JSON.stringify(result)
}
