import { expect, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import { systemContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { claimDue, releaseClaims } from '../database/lease-queue.ts'
import { insertMonitors } from '../monitors/insert.ts'
import { parseMonitor } from '../monitors/parse-monitor.ts'
import { lastCheckedAt, leaveRounds, streakInRounds } from '../monitors/rounds.ts'
import { SLOTS } from '../monitors/slots.ts'
import { onBothEngines } from '../testing/database.ts'
import { MINUTE_MS } from '../times.ts'
import type { MonitorCheckResult } from './check-write.ts'
import { recordChecks } from './record-checks.ts'
import { beginRound, claimRounds, finishRound, leaveRound, type Round, type RoundClaim } from './round-store.ts'
import type { CheckClaim } from './run-check.ts'

const START = Date.UTC(2026, 10, 21)
const INTERVALS = [5, 6, 60]

/** What a history expects of one monitor. `left`: how often it left the rounds, so that a check that began before does not count. */
type Expected = { slot: number; frequency: number; isActive: boolean; checks: number; lastAt: number; left: number }
type Open = { process: number; claim: RoundClaim; round: Round; left: Map<number, number> }

/** A generator of numbers from 0 to below 1 (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

async function givenMonitors(db: Database, count: number, random: () => number): Promise<Map<number, Expected>> {
  const organization = { name: 'A', email: 'a@example.com', passwordHash: '' }
  const { id } = await insertOrganization(db, organization, START)
  const drafts = Array.from({ length: count }, (_, number) => {
    const frequency = INTERVALS[number % INTERVALS.length]!
    const name = `n${number}.example.com`
    const parsed = parseMonitor({ full_domain: name, record_type: 'A', expected_value: '192.0.2.1', frequency })
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
    return parsed.draft
  })
  const rows = await insertMonitors(db, systemContext(id, START), drafts)
  const monitors = new Map<number, Expected>()
  for (const { id, frequency } of rows) {
    const slot = Math.floor(random() * SLOTS) // another one than that of its id, so that a seed is always the same history
    await db
      .updateTable('due_checks')
      .set({ slot: slot as never, fingerprint: 1 })
      .where('monitor_id', '=', id)
      .execute()
    monitors.set(slot, { slot, frequency, isActive: true, checks: 0, lastAt: 0, left: 0 })
  }
  return monitors
}

/**
 * Two to five processes in virtual time, which are killed and freeze, and users who start checks and disable, enable and change monitors.
 * All results are as before, so that only the counts can be wrong.
 */
class History {
  now = START
  readonly #open: Open[] = []
  readonly #slow: { process: number; claim: CheckClaim }[] = []
  readonly #db: Database
  readonly #monitors: Map<number, Expected>
  readonly #random: () => number
  readonly #processes: number

  constructor(db: Database, monitors: Map<number, Expected>, random: () => number) {
    this.#db = db
    this.#monitors = monitors
    this.#random = random
    this.#processes = 2 + Math.floor(random() * 4)
  }

  async step(): Promise<void> {
    const process = 1 + Math.floor(this.#random() * this.#processes)
    const actions = [
      ...Array(6).fill(() => this.wait(this.#random() * MINUTE_MS)),
      ...Array(4).fill(() => this.runQueue(process)),
      ...Array(6).fill(() => this.beginRounds(process)),
      ...Array(6).fill(() => this.finishRounds(process)),
      () => this.finishSlow(process),
      () => this.kill(process),
      () => this.#checkNow(),
      () => this.#changeFrequency(),
      () => this.#disableOrEnable(),
      () => this.wait(this.#random() * 20 * MINUTE_MS),
    ]
    await this.#pick(actions)()
  }

  async wait(ms: number) {
    this.now += Math.ceil(ms)
  }

  async runQueue(process: number) {
    await this.#record(await claimDue(this.#db, 'due_checks', { now: this.now, process, limit: 100 }))
  }

  async beginRounds(process: number) {
    for (const claim of await claimRounds(this.#db, { now: this.now, process, limit: 4 })) {
      const round = await beginRound(this.#db, claim, this.now)
      if (!round) continue
      const left = new Map(round.checks.map(({ slot }) => [slot, this.#monitors.get(slot)!.left]))
      this.#open.push({ process, claim, round, left })
    }
  }

  async finishRounds(process: number) {
    for (const open of this.#take(this.#open, process)) {
      const { claim, round, left } = open
      const slow = round.checks.filter(() => this.#random() < 0.1)
      await leaveRound(this.#db, claim, slow, this.now)
      for (const check of slow) if (!check.read) this.#slow.push({ process, claim: check })
      const isHeld = await finishRound(this.#db, claim, round)
      for (const check of round.checks) {
        const monitor = this.#monitors.get(check.slot)!
        if (!isHeld || !check.read || monitor.left !== left.get(check.slot)) continue
        monitor.checks++
        monitor.lastAt = Math.max(round.startedAt, check.was_due_at)
      }
    }
  }

  async finishSlow(process: number) {
    await this.#record(this.#take(this.#slow, process).map(({ claim }) => claim))
  }

  /** Its leases are released, as a heartbeat does, or run out. */
  async kill(process: number) {
    this.#take(this.#open, process)
    this.#take(this.#slow, process)
    if (this.#random() < 0.5) await releaseClaims(this.#db, [process], this.now)
  }

  /** The last instant at which each active monitor is checked again if nothing fails: its interval and the length of a range. */
  async expectAllChecked(since: number) {
    for (const { slot, isActive, lastAt } of this.#monitors.values())
      if (isActive) expect(lastAt, `slot ${slot}`).toBeGreaterThanOrEqual(since)
  }

  /** The counts of all monitors, as the API reads them. */
  async expectCounts() {
    const rows = await this.#db
      .selectFrom('due_checks')
      .select(['slot', streakInRounds.as('checks'), lastCheckedAt.as('lastAt')])
      .execute()
    for (const { slot, checks, lastAt } of rows) {
      const expected = this.#monitors.get(slot)!
      expect(checks, `slot ${slot} at ${this.now}`).toBe(expected.checks)
      expect(Math.abs((lastAt ?? 0) - expected.lastAt), `slot ${slot}`).toBeLessThan(5) // the slot in milliseconds is rounded
    }
  }

  async #record(claims: readonly CheckClaim[]) {
    const results: MonitorCheckResult[] = claims.map((claim) => ({ claim, at: this.now, kind: 'unchanged' }))
    for (const result of results) {
      let lost = 0
      await recordChecks(this.#db, [result], this.now, (count) => {
        lost = count
      })
      if (lost > 0) continue
      const monitor = this.#monitors.get(result.claim.slot)!
      monitor.checks++
      monitor.lastAt = this.now
    }
  }

  async #checkNow() {
    const monitor = this.#pick([...this.#monitors.values()])
    if (!monitor.isActive) return
    await this.#leave(monitor)
    await this.#set(monitor, { due_at: this.now, claimed_by: null })
  }

  async #changeFrequency() {
    const monitor = this.#pick([...this.#monitors.values()])
    await this.#leave(monitor)
    monitor.frequency = this.#pick(INTERVALS)
    const due = monitor.isActive ? { due_at: this.now, claimed_by: null } : {}
    await this.#set(monitor, { frequency: monitor.frequency, ...due })
  }

  async #disableOrEnable() {
    const monitor = this.#pick([...this.#monitors.values()])
    await this.#leave(monitor)
    monitor.isActive = !monitor.isActive
    await this.#set(monitor, { due_at: monitor.isActive ? this.now : null, claimed_by: null })
  }

  async #leave(monitor: Expected) {
    await leaveRounds(this.#db, [monitor.slot], this.now)
    monitor.left++
  }

  async #set({ slot }: Expected, set: { due_at?: number | null; claimed_by?: null; frequency?: number }) {
    await this.#db.updateTable('due_checks').set(set).where('slot', '=', slot).execute()
  }

  #take<T extends { process: number }>(list: T[], process: number): T[] {
    const taken = list.filter((item) => item.process === process)
    list.splice(0, list.length, ...list.filter((item) => item.process !== process))
    return taken
  }

  readonly #pick = <T>(list: readonly T[]): T => list[Math.floor(this.#random() * list.length)]!
}

/** Many more manually: HISTORIES=10000 npx vitest run server/checks/round-histories.test.ts */
const HISTORIES = Number(process.env.HISTORIES ?? 25)
const STEPS = 120

onBothEngines('rounds, whatever the processes and the users do,', (fresh, engine) => {
  test('count each check exactly, and leave no monitor out', { timeout: 60_000 + HISTORIES * 10_000 }, async () => {
    const histories = engine === 'sqlite' ? HISTORIES : Math.ceil(HISTORIES / 10)
    const db = await fresh()
    for (let seed = 1; seed <= histories; seed++) {
      await db.deleteFrom('due_rounds').execute()
      await db.deleteFrom('due_checks').execute()
      const random = randomOf(seed)
      const history = new History(db, await givenMonitors(db, 12, random), random)
      for (let count = 0; count < STEPS; count++) {
        await history.step()
        await history.expectCounts()
      }
      // One process goes on alone: it takes over what the others held, and checks every monitor.
      const since = history.now + MINUTE_MS
      for (const end = since + 62 * MINUTE_MS; history.now < end; await history.wait(5_000)) {
        await history.runQueue(9)
        await history.beginRounds(9)
        await history.finishRounds(9)
        await history.finishSlow(9)
      }
      await history.expectCounts()
      await history.expectAllChecked(since)
    }
  })
})
