import type { Report } from './judge.ts'
import { isRotatingWorld } from './world/judgement.ts'
import { UNDECIDABLE } from './world/undecidable.ts'
import { CHANGE_KINDS, type ChangeKind, stepsOf, type World } from './world/world.ts'

/** The figures of many worlds together. Detection times are those of worlds that are decidable. */
export type Totals = {
  worlds: number
  days: number
  checks: number
  events: number
  /** Queries a day of each world, by its kind. */
  queries: Record<WorldKind, number[]>
  detections: Record<ChangeKind, { ms: number; seed: number }[]>
  changes: Report['changes']
  undecidable: Record<string, number>
  failed: { seed: number; faults: Report['faults'] }[]
}
type WorldKind = 'quiet' | 'changing' | 'moving' | 'broken' | 'rotating'
const WORLD_KINDS: readonly WorldKind[] = ['quiet', 'changing', 'moving', 'broken', 'rotating']

/** At least this share of changes, and of changes of a rotation, must be able to count as missed or late, in percent. */
const MIN_COUNTED = 95
const MIN_COUNTED_ROTATING = 80
/** With fewer worlds, shares vary too much to be checked. */
const MIN_WORLDS = 2_000

export function newTotals(): Totals {
  const queries = Object.fromEntries(WORLD_KINDS.map((kind) => [kind, []])) as unknown as Totals['queries']
  const detections = Object.fromEntries(CHANGE_KINDS.map((kind) => [kind, []])) as unknown as Totals['detections']
  const changes = { all: 0, counted: 0, rotating: 0, countedRotating: 0 }
  return { worlds: 0, days: 0, checks: 0, events: 0, queries, detections, changes, undecidable: {}, failed: [] }
}

export function addReport(totals: Totals, report: Report): void {
  const { world, checks, events, changes, undecidable, detections, faults } = report
  totals.worlds += 1
  totals.days += world.days
  totals.checks += checks
  totals.events += events
  totals.queries[kindOf(world)].push(report.queries / world.days)
  for (const name of Object.keys(changes) as (keyof typeof changes)[]) totals.changes[name] += changes[name]
  for (const name of undecidable) totals.undecidable[name] = (totals.undecidable[name] ?? 0) + 1
  if (undecidable.length === 0)
    for (const { kind, ms } of detections) totals.detections[kind].push({ ms, seed: world.seed })
  if (faults.length > 0) totals.failed.push({ seed: world.seed, faults })
}

export function merge(parts: readonly Totals[]): Totals {
  const all = newTotals()
  for (const part of parts) {
    all.worlds += part.worlds
    all.days += part.days
    all.checks += part.checks
    all.events += part.events
    for (const kind of WORLD_KINDS) all.queries[kind].push(...part.queries[kind])
    for (const kind of CHANGE_KINDS) for (const one of part.detections[kind]) all.detections[kind].push(one)
    for (const name of Object.keys(all.changes) as (keyof Totals['changes'])[]) all.changes[name] += part.changes[name]
    for (const [name, count] of Object.entries(part.undecidable))
      all.undecidable[name] = (all.undecidable[name] ?? 0) + count
    all.failed.push(...part.failed)
  }
  return all
}

function kindOf(world: World): WorldKind {
  if (isRotatingWorld(world)) return 'rotating'
  const kinds = new Set(world.changes.map(({ kind }) => kind))
  const hasServerFault = stepsOf(world).some((step) => 'server' in step && step.status !== 'ok')
  const { loss, outages, captive, closed, resolvers } = world
  if (loss > 0 || hasServerFault || kinds.has('outage') || kinds.has('dnssec')) return 'broken'
  if (outages.length + captive.length + closed.length > 0 || resolvers.some(({ status }) => status !== 'ok'))
    return 'broken'
  if (kinds.has('move') || kinds.has('suspension') || kinds.has('parking') || kinds.has('hijack')) return 'moving'
  return kinds.size > 0 ? 'changing' : 'quiet'
}

/** The table of a run. */
export function table(totals: Totals, seconds: number, threads: number): string {
  const { worlds, days, checks, events, failed, changes } = totals
  const count = (kind: string) => failed.flatMap(({ faults }) => faults).filter((fault) => fault.kind === kind).length
  const rows = [
    ['worlds', String(worlds)],
    ['monitor-days', `${days} in ${Math.round(seconds)} s on ${threads} threads`],
    ['checks', String(checks)],
    ['events', String(events)],
    ['false events', String(count('false event'))],
    ['missed changes', String(count('missed change'))],
    ['late changes', String(count('late change'))],
    ['costly checks', String(count('costly check'))],
    ['crashes', String(count('crash'))],
    ['changes that can count', `${changes.counted} of ${changes.all} (${percent(changes.counted, changes.all)})`],
    [
      '  of rotations',
      `${changes.countedRotating} of ${changes.rotating} (${percent(changes.countedRotating, changes.rotating)})`,
    ],
    ...WORLD_KINDS.map((kind) => [`queries a day, ${kind}`, spreadOf(totals.queries[kind])]),
    ...CHANGE_KINDS.map((kind) => [`recorded after, ${kind}`, timesOf(totals.detections[kind])]),
    ...UNDECIDABLE.map(({ case: name, maxPercent }) => {
      const share = percent(totals.undecidable[name] ?? 0, worlds)
      return [`undecidable: ${name}`, `${totals.undecidable[name] ?? 0} worlds, ${share} (at most ${maxPercent} %)`]
    }),
  ]
  const width = Math.min(40, Math.max(...rows.map(([name]) => name!.length)))
  const lines = rows.map(([name, value]) => `${name!.padEnd(width)}  ${value}`)
  const faults = failed.slice(0, 20).map((failure) => `\n${failureText(failure)}`)
  return [...lines, ...faults].join('\n')
}

/** What a run must not exceed besides faults. */
export function tooLittleDecided({ worlds, changes, undecidable }: Totals): string[] {
  if (worlds < MIN_WORLDS) return []
  const classes = UNDECIDABLE.filter(
    ({ case: name, maxPercent }) => 100 * (undecidable[name] ?? 0) > maxPercent * worlds,
  )
  const counted = [
    ...(100 * changes.counted < MIN_COUNTED * changes.all
      ? [`fewer than ${MIN_COUNTED} % of the changes can count`]
      : []),
    ...(100 * changes.countedRotating < MIN_COUNTED_ROTATING * changes.rotating
      ? [`fewer than ${MIN_COUNTED_ROTATING} % of the changes of rotations can count`]
      : []),
  ]
  return [...classes.map(({ case: name }) => `more worlds than permitted are undecidable: ${name}`), ...counted]
}

export function failureText({ seed, faults: [fault] }: Totals['failed'][number]): string {
  return `${fault!.kind}: ${fault!.text}\n  npm run simulate -- --seed ${seed}`
}

const percent = (part: number, all: number) => `${((100 * part) / Math.max(1, all)).toFixed(2)} %`

function spreadOf(numbers: readonly number[]): string {
  if (numbers.length === 0) return '-'
  const sorted = numbers.toSorted((one, other) => one - other)
  const mean = sorted.reduce((sum, number) => sum + number, 0) / sorted.length
  const middle = sorted[Math.floor(sorted.length / 2)]!
  return `mean ${mean.toFixed(1)}, p50 ${middle.toFixed(1)}, most ${sorted.at(-1)!.toFixed(1)} (${sorted.length} worlds)`
}

function timesOf(detections: { ms: number; seed: number }[]): string {
  if (detections.length === 0) return '-'
  const sorted = detections.toSorted((one, other) => one.ms - other.ms)
  const minutes = (share: number) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.ms / 60_000).toFixed(1)
  const longest = sorted.at(-1)!
  return `p50 ${minutes(0.5)}, p99 ${minutes(0.99)}, longest ${minutes(1)} min (seed ${longest.seed}; ${sorted.length} changes)`
}
