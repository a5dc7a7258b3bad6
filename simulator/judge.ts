import type { Recorded } from '#server/checks/check-state.ts'
import { confirmationText } from '#server/checks/reasons.ts'
import { type CheckFinding, type CheckResult, runCheck } from '#server/checks/run-check.ts'
import { conclude } from '#server/checks/verdict.ts'
import { createNetworkCheck } from '#server/dns/network-check.ts'
import { createAuthoritativeClient } from '#server/dns/resolver/authoritative-client.ts'
import { recordTypeOf } from '#server/record-types/record-types.ts'
import { createFastClient } from './client.ts'
import { createVirtualClock, type VirtualClock } from './clock.ts'
import { createNetwork } from './network.ts'
import { createRandom } from './random.ts'
import { createValidator } from './validator.ts'
import { createWireClient } from './wire-client.ts'
import { buildInternet, CANARY, ownerOf, ROOT_IPS, TLD_IPS } from './world/internet.ts'
import {
  boundOf,
  changesOf,
  disturbedMs,
  falseEvent,
  isRecorded,
  isSourceHidden,
  type JudgedEvent,
  type TrueChange,
  textOf,
} from './world/judgement.ts'
import type { State } from './world/truth.ts'
import { truthsOf } from './world/truth.ts'
import { undecidableCases } from './world/undecidable.ts'
import { type ChangeKind, DAY, MINUTE, type World } from './world/world.ts'

const START = Date.UTC(2026, 0, 1)
const MAX_EVENTS = 1_000
/** One world of this many runs on the product's own DNS client, with packets. The others would take too long. */
const WIRE_SHARE = 10
/** The budget of a check, and the lease that it must not outlive. */
const MAX_QUERIES = 200
const MAX_CHECK_MS = 55_000

export type FaultKind = 'false event' | 'missed change' | 'late change' | 'costly check' | 'crash'
export type Fault = { kind: FaultKind; at: number; text: string }

/** `kind`: of the change; `ms`: from the change itself until it was recorded. */
export type Detection = { kind: ChangeKind; ms: number; isOfRotation: boolean }

/** What the judge found in one world. `changes`: all, and how many of them had to be recorded within the bound. */
export type Report = {
  world: World
  faults: Fault[]
  detections: Detection[]
  checks: number
  queries: number
  events: number
  changes: { all: number; counted: number; rotating: number; countedRotating: number }
  undecidable: string[]
  trace: string[]
}

/** Runs all checks of a world in virtual time, and compares each event and each change with what the servers publish. */
export async function judge(world: World, clock: VirtualClock, isTraced = false): Promise<Report> {
  const random = createRandom(world.seed ^ 0x5eed)
  const internet = buildInternet(world)
  const truths = truthsOf(world, internet)
  const cases = undecidableCases(world, truths)
  const changes = changesOf(truths)
  const network = createNetwork(world, internet, clock, random)
  const trace: string[] = []
  const note = (text: string) => void (isTraced && trace.push(`${clockText(clock.elapsed())} ${text}`))
  const isOnWire = world.seed % WIRE_SHARE === 0
  const dns = isOnWire ? createWireClient(network, clock, note) : createFastClient(network, clock, note)
  const roots = ROOT_IPS.map((ip) => ({ ip, port: 53 }))
  const authoritativeClient = world.roots ? createAuthoritativeClient({ dns, clock, roots }) : undefined
  const networkCheck = world.canaries
    ? createNetworkCheck({
        dns,
        clock,
        canaries: [CANARY],
        ...(authoritativeClient && { areRootsLost: authoritativeClient.areRootsLost }),
        onOutage: () => {},
        onRecovery: () => {},
      })
    : undefined
  const validator = createValidator(world, network, clock, TLD_IPS.slice(0, world.parentDelaysMs.length))
  const deps = { dns, clock, authoritativeClient, networkCheck, validator }
  const report = { ...newReport(world), undecidable: cases.map((one) => one.case), trace }
  const end = world.days * DAY
  const interval = world.frequency * MINUTE
  const steps = [...world.clockSteps]
  let recorded = newRecorded(world)
  const open = new Judge(world, changes, report)

  for (let time = world.slot; time < end; ) {
    clock.goTo(time)
    while (steps.length > 0 && time >= steps[0]!.at) clock.step(steps.shift()!.by)
    const sentBefore = network.sent()
    network.allow(10 * MAX_QUERIES)
    const result = await check(recorded)
    report.checks += 1
    const now = clock.elapsed()
    if (network.sent() - sentBefore > MAX_QUERIES || now - time > MAX_CHECK_MS) {
      const text = `${network.sent() - sentBefore} queries in ${now - time} ms`
      report.faults.push({ kind: 'costly check', at: now, text })
    }
    const next = Math.floor((now - world.slot) / interval + 1) * interval + world.slot
    const { after, event, afterMs } = apply(recorded, result)
    recorded = after
    if (result.kind !== 'unchanged') note(describe(result))
    if (event && report.events < MAX_EVENTS) {
      report.events += 1
      note(`EVENT ${event.oldState} → ${event.newState} ${event.current?.join(' ') ?? ''}`)
      const judged: JudgedEvent = { at: now, startedAt: time, state: event.newState as State, values: event.current }
      const reason = falseEvent(world, truths, judged)
      const isPermitted = reason === undefined || cases.some(({ permits }) => permits?.(world, truths, judged))
      if (!isPermitted) report.faults.push({ kind: 'false event', at: now, text: reason! })
    }
    open.look(now, recorded)
    time = Math.min(next, now + Math.max(afterMs, 1_000))
  }
  open.close(end)
  report.queries = network.sent()
  return report

  async function check(current: Recorded): Promise<CheckResult> {
    const stored = current.fingerprint !== null && current.isRotating ? -current.fingerprint : current.fingerprint
    const claim = {
      owner: current.owner,
      record_type: world.recordType,
      is_exact_match: world.isExactMatch ? 1 : 0,
      fingerprint: stored,
      inconclusive_count: current.inconclusiveCount,
      planned_change_id: null,
      frequency: world.frequency,
      slot: world.seed,
    } as unknown as Parameters<typeof runCheck>[0]
    return await runCheck(claim, deps, async () => ({ recorded: current, row: undefined }), NEVER.signal)
  }
}

const NEVER = new AbortController()

/** What a check changes, as the product records it. */
function apply(recorded: Recorded, finding: CheckFinding) {
  switch (finding.kind) {
    case 'verdict': {
      const { recorded: after, event } = conclude(recorded, finding)
      return { after, event, afterMs: Number.POSITIVE_INFINITY }
    }
    case 'inconclusive': {
      const after = { ...recorded, rotation: finding.rotation, inconclusiveCount: recorded.inconclusiveCount + 1 }
      return { after, event: undefined, afterMs: finding.afterMs }
    }
    case 'withheld':
    case 'postponed':
      return { after: recorded, event: undefined, afterMs: finding.afterMs }
    case 'unchanged':
    case 'deleted':
      return { after: recorded, event: undefined, afterMs: Number.POSITIVE_INFINITY }
  }
}

/** Follows the changes of the truth, until each is recorded, late or missed. */
class Judge {
  readonly world: World
  readonly changes: readonly TrueChange[]
  readonly report: Report
  current = 0
  isFound = false

  constructor(world: World, changes: readonly TrueChange[], report: Report) {
    this.world = world
    this.changes = changes
    this.report = report
  }

  look(now: number, recorded: Recorded): void {
    while (this.current + 1 < this.changes.length && this.changes[this.current + 1]!.from <= now) {
      this.finish(this.changes[this.current]!.to)
      this.current += 1
      this.isFound = false
    }
    const change = this.changes[this.current]
    if (!change || this.isFound || change.from > now || change.to <= now) return
    if (!isRecorded(this.world, change.published, recorded)) return
    this.isFound = true
    const since = Math.max(change.from, this.world.slot)
    if (this.current === 0) return // the first check
    const { isOfRotation } = change
    this.report.detections.push({ kind: kindOf(this.world, change), ms: now - since, isOfRotation })
    const excess = now - since - this.boundFor(change, now)
    if (excess > 0 && this.report.undecidable.length === 0) {
      this.report.faults.push({
        kind: 'late change',
        at: now,
        text: `${describeChange(change)}, ${minutes(excess)} min after the bound`,
      })
    }
  }

  close(end: number): void {
    this.finish(end)
  }

  private boundFor(change: TrueChange, now: number): number {
    const isHidden = isSourceHidden({ ...this.world, closed: [] })
    return boundOf(this.world, change, isHidden) + disturbedMs(this.world, change.from, now)
  }

  private finish(end: number): void {
    const change = this.changes[this.current]
    if (!change) return
    const { changes, undecidable, faults } = this.report
    const isCounted = end - change.from > this.boundFor(change, end) && undecidable.length === 0
    if (this.current > 0) {
      changes.all += 1
      if (change.isOfRotation) changes.rotating += 1
      if (isCounted) changes.counted += 1
      if (isCounted && change.isOfRotation) changes.countedRotating += 1
    }
    if (isCounted && !this.isFound) faults.push({ kind: 'missed change', at: end, text: describeChange(change) })
  }
}

/** The kind of the latest step before the truth changed. */
function kindOf({ changes }: World, { from }: TrueChange): ChangeKind {
  let kind: ChangeKind = 'records'
  let latest = Number.NEGATIVE_INFINITY
  for (const change of changes) {
    for (const { at } of change.steps) {
      if (at > from || at < latest) continue
      latest = at
      kind = change.kind
    }
  }
  return kind
}

function newRecorded(world: World): Recorded {
  return {
    owner: ownerOf(world),
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

function newReport(world: World): Report {
  const changes = { all: 0, counted: 0, rotating: 0, countedRotating: 0 }
  return { world, faults: [], detections: [], checks: 0, queries: 0, events: 0, changes, undecidable: [], trace: [] }
}

/** An exception of the product is a fault of its own. */
function crashed(world: World, error: Error): Report {
  return { ...newReport(world), faults: [{ kind: 'crash', at: 0, text: error.stack ?? error.message }] }
}

// Running

/** Runs the worlds at the same time: their promises settle together, which is cheaper than one after the other. */
export async function judgeAll(worlds: readonly World[], isTraced = false): Promise<Report[]> {
  const clocks = worlds.map(() => createVirtualClock(START))
  let running = worlds.length
  const reports = worlds.map((world, index) =>
    judge(world, clocks[index]!, isTraced)
      .catch((error: Error) => crashed(world, error))
      .finally(() => {
        running -= 1
      }),
  )
  while (running > 0) {
    await new Promise((resolve) => setImmediate(resolve))
    for (const clock of clocks) clock.advance()
  }
  return await Promise.all(reports)
}

// Text

export function clockText(time: number): string {
  return `day ${Math.floor(time / DAY)} ${new Date(START + (time % DAY)).toISOString().slice(11, 23)}`
}

const minutes = (ms: number) => (ms / MINUTE).toFixed(1)

function describeChange({ from, published }: TrueChange): string {
  return `${textOf(published)} since ${clockText(from)}`
}

function describe(result: CheckFinding): string {
  const outcome = 'outcome' in result ? ` ${result.outcome.kind}` : ''
  return `${result.kind}${outcome}${'confirmation' in result ? `: ${confirmationText(result.confirmation)}` : ''}`
}
