import type { Observation, Step } from '../check-state.ts'
import { decide, isAsRecorded } from '../confirmation-rules.ts'
import { confirmationText } from '../reasons.ts'
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

/** How long the detection of a change took: since an observer of all servers could know it, and since the next regular check. */
export type DetectionDelay = { sinceVisible: number; sinceCheck: number }

/** The result for one world. */
export type Report = {
  seed: number
  world: World
  faults: Fault[]
  delays: DetectionDelay[]
  checks: number
  queries: number
  events: number
  /** Virtual milliseconds of the longest check. */
  longestMs: number
  /** The undecidable cases that apply to the world. */
  undecidable: string[]
  trace: string[]
}
export type Fault = {
  kind: 'false event' | 'missed change' | 'late change' | 'unfinished check'
  at: number
  text: string
}

/** Runs the rules of a check for all days of the world. `world`: instead of the world of the seed. `trace`: also report every query and answer. */
export function simulate(
  seed: number,
  { trace = false, world: givenWorld }: { trace?: boolean; world?: World } = {},
): Report {
  const world = givenWorld ?? newWorld(seed, createRandom(seed))
  const random = createRandom(seed ^ 0x5eed)
  const network = createNetwork(world, random)
  const capabilities = {
    resolvers: network.resolvers,
    hasAuthoritativeClient: world.roots,
    hasNetworkCheck: world.canaries,
  }
  const report: Report = {
    seed,
    world,
    faults: [],
    delays: [],
    checks: 0,
    queries: 0,
    events: 0,
    longestMs: 0,
    undecidable: undecidableCases(world).map((undecidable) => undecidable.case),
    trace: [],
  }
  const addToTrace = (time: number, text: string) => trace && report.trace.push(`${clockText(time)} ${text}`)
  const end = world.days * DAY
  const interval = world.frequency * MINUTE
  let recorded = newRecorded(world)
  let clockOffset = 0
  const clockSteps = [...world.clockSteps]
  const detected = new Set<Period>()
  let time = world.slot
  while (time < end) {
    if (clockSteps.length > 0 && time >= clockSteps[0]!.at) clockOffset += clockSteps.shift()!.by
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
        addToTrace(
          time,
          `EVENT ${event.oldState} → ${event.newState} ${event.current?.join(' ') ?? ''} (${confirmationText(step.confirmation)})`,
        )
        const fault = falseEvent(world, network.lastServedAt, {
          at: time,
          startedAt,
          state: event.newState,
          values: event.current,
        })
        if (fault) report.faults.push({ kind: 'false event', at: time, text: fault })
        break
      }
    }
    const period = periodAt(world.periods, time)
    if (!detected.has(period) && isDetected(world, period, recorded)) {
      detected.add(period)
      const visibleAt = Math.max(world.slot, visibleFrom(world, period))
      const checkAt = Math.ceil((visibleAt - world.slot) / interval) * interval + world.slot
      report.delays.push({ sinceVisible: Math.max(0, time - visibleAt), sinceCheck: Math.max(0, time - checkAt) })
      reportIfLate(period, visibleAt)
    }
    const upcoming = world.periods.find(({ from }) => from > time && from <= next)
    if (upcoming || next >= end) reportIfMissed(period, upcoming?.from ?? end)
    time = next
  }
  report.queries = network.sentQueries()
  for (const undecidable of undecidableCases(world)) {
    const maxEvents = undecidable.maxEvents?.(world)
    if (maxEvents !== undefined && report.events > maxEvents) {
      report.faults.push({
        kind: 'false event',
        at: end,
        text: `${report.events} events, and the rule allows ${maxEvents}: ${undecidable.case}`,
      })
    }
  }
  return report

  function check(begin: number): { step: Exclude<Step, { kind: 'query' }>; endedAt: number } {
    let now = begin
    const observations: Observation[] = []
    for (let round = 0; round < 200; round++) {
      const at = START + now + clockOffset
      const step = decide({ recorded, observations, now: { at, elapsed: now }, capabilities })
      if (step.kind !== 'query') {
        if (trace && step.kind !== 'unchanged')
          addToTrace(now, `${step.kind}${'confirmation' in step ? `: ${confirmationText(step.confirmation)}` : ''}`)
        return { step, endedAt: now }
      }
      let endedAt = now
      for (const query of step.queries) {
        const sentAt = Math.max(now, query.notBefore ?? now)
        const result = network.answer(query, sentAt)
        const elapsed = sentAt + result.ms
        endedAt = Math.max(endedAt, elapsed)
        if (trace) addToTrace(sentAt, `${describeQuery(query)} ← ${describeResult(result)}`)
        observations.push(Object.assign(result, { query, at: START + elapsed + clockOffset, elapsed }) as Observation)
        const first = observations[0]!
        if (observations.length === 1 && 'reply' in first && isAsRecorded(recorded, first.reply)) break
      }
      now = endedAt
    }
    report.faults.push({ kind: 'unfinished check', at: now, text: 'more than 200 rounds of queries' })
    return { step: { kind: 'unchanged' }, endedAt: now }
  }

  function nextSlot(now: number): number {
    return Math.floor((now - world.slot) / interval + 1) * interval + world.slot
  }

  function reportIfLate(period: Period, visibleAt: number): void {
    const isLate = time - visibleAt > detectionDeadline(world, period) && !isDisturbed(world, visibleAt, time)
    if (!isLate || report.undecidable.length > 0) return
    const text = `${period.kind} ${describePeriod(period)} since ${clockText(period.from)}, detected at ${clockText(time)}`
    report.faults.push({ kind: 'late change', at: time, text })
  }

  function reportIfMissed(period: Period, until: number): void {
    if (detected.has(period) || report.undecidable.length > 0) return
    const from = visibleFrom(world, period)
    const isLasting = until - from >= detectionDeadline(world, period) && !isDisturbed(world, from, until)
    if (isLasting) {
      const text = `${period.kind} ${describePeriod(period)} since ${clockText(period.from)}; recorded ${recorded.state} ${recorded.values?.join(' ')}`
      report.faults.push({ kind: 'missed change', at: until, text })
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
