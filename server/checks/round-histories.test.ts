import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import { systemContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { insertPastSchedules } from '../monitors/check-gaps.ts'
import { getMonitorHistory } from '../monitors/check-history-store.ts'
import { deleteMonitor } from '../monitors/delete.ts'
import { insertMonitors } from '../monitors/insert.ts'
import { lastCheckedAt, streakInRounds } from '../monitors/last-round.ts'
import { parseMonitor } from '../monitors/parse-monitor.ts'
import { rangeOf } from '../monitors/round-ranges.ts'
import { leaveRounds } from '../monitors/rounds.ts'
import { nextDueAt, SLOTS } from '../monitors/slots.ts'
import { claimDue, releaseClaims, releaseUnknown } from '../queue/lease-queue.ts'
import { onBothEngines } from '../testing/database.ts'
import { MINUTE_MS } from '../times.ts'
import type { MonitorCheckResult, MonitorRow } from './check-write.ts'
import { recordChecks } from './record-checks.ts'
import { beginRound, claimRounds, finishRound, leaveRound, type Round, type RoundClaim } from './round-store.ts'
import type { CheckClaim } from './run-check.ts'

const START = Date.UTC(2026, 10, 21)
const INTERVALS = [5, 6, 60]

/** What a history expects of one monitor. `left`: how often it left the rounds, so that a check that began before does not count. */
type Expected = {
  slot: number
  frequency: number
  isActive: boolean
  checks: number
  lastAt: number
  left: number
} & Timeline
/** Its checks, and its schedules until now. */
type Timeline = { id: string; times: number[]; schedules: { from: number; to: number; frequency: number }[] }
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
  for (const [number, { id, frequency }] of rows.entries()) {
    // Another one than that of its id, so that a seed is always the same history. Each second half shares the ranges of the first.
    const { first_slot, until_slot } = rangeOf({ slot: [...monitors.keys()][number - count / 2] ?? -1, frequency })
    const isFirst = number < count / 2
    const slot = Math.floor(isFirst ? random() * SLOTS : first_slot + random() * (until_slot - first_slot))
    await db
      .updateTable('due_checks')
      .set({ slot: slot as never, fingerprint: 1 })
      .where('monitor_id', '=', id)
      .execute()
    await db.updateTable('monitors').set({ slot }).where('id', '=', id).execute()
    monitors.set(slot, {
      ...{ slot, frequency, isActive: true, checks: 0, lastAt: 0, left: 0 },
      ...{ id, times: [], schedules: [{ from: START, to: Number.POSITIVE_INFINITY, frequency }] },
    })
  }
  return monitors
}

/**
 * Two to five processes in virtual time, which are killed, freeze and lose the database, and users who start checks and disable, enable,
 * change and delete monitors. Ranges are split meanwhile. All results are as before, so that only the counts can be wrong.
 */
class History {
  now = START
  readonly #open: Open[] = []
  readonly #slow: { process: number; claim: CheckClaim }[] = []
  readonly #db: Database
  readonly #monitors: Map<number, Expected>
  readonly #random: () => number
  readonly #processes: number
  readonly #leastMonitors: number

  constructor(db: Database, monitors: Map<number, Expected>, random: () => number) {
    this.#db = db
    this.#monitors = monitors
    this.#random = random
    this.#leastMonitors = monitors.size / 2
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
      () => this.#delete(),
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
      // Now and then a range has too many monitors, and is split.
      const round = await beginRound(this.#db, claim, this.now, this.#random() < 0.1 ? 1 : undefined)
      if (!round) continue
      const left = new Map(round.checks.map(({ slot }) => [slot, this.#monitors.get(slot)!.left]))
      this.#open.push({ process, claim, round, left })
    }
  }

  async finishRounds(process: number) {
    let mustRelease = false
    for (const { claim, round, left } of this.#take(this.#open, process)) {
      const slow = round.checks.filter(() => this.#random() < 0.1)
      await leaveRound(this.#db, claim, slow, this.now)
      for (const check of slow) if (!check.read) this.#slow.push({ process, claim: check })
      // If the database is lost in its transaction, nothing of a round counts. It is repeated.
      const isLost = this.#random() < 0.1
      const db = isLost ? this.#lost() : this.#db
      const isHeld = await finishRound(db, claim, round).catch(() => false)
      mustRelease ||= isLost && this.#random() < 0.5
      for (const check of round.checks) {
        const monitor = this.#monitors.get(check.slot)
        if (!isHeld || !check.read || !monitor || monitor.left !== left.get(check.slot)) continue
        monitor.checks++
        monitor.lastAt = Math.max(round.startedAt, check.was_due_at)
        monitor.times.push(monitor.lastAt)
      }
    }
    if (mustRelease) await releaseUnknown(this.#db, 'due_rounds', { process, held: new Set(), now: this.now })
  }

  /** A database that is lost after its second statement: before the end of the transaction, if there is one. */
  #lost(): Database {
    let count = 0
    return this.#db.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        if (++count > 1) throw new Error('The connection was lost.')
        return result
      },
    })
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
      expect(lastAt ?? 0, `slot ${slot}`).toBe(expected.lastAt)
    }
  }

  /** What was due, and what was late or missed, as the API proves it: in all of the history, and in a part of it. */
  async expectProof() {
    const middle = START + Math.floor((this.now - START) * this.#random())
    const organizationId = (await this.#db.selectFrom('due_checks').select('organization_id').executeTakeFirstOrThrow())
      .organization_id
    for (const monitor of this.#monitors.values()) {
      await this.#db
        .updateTable('monitors')
        .set({ frequency: monitor.frequency, is_active: monitor.isActive ? 1 : 0 })
        .where('id', '=', monitor.id)
        .execute()
      for (const period of [
        { since: START, until: this.now },
        { since: middle, until: this.now },
        { since: START, until: middle },
      ]) {
        const { due, done, late, missed, withheld } = await getMonitorHistory(
          this.#db,
          { organizationId },
          monitor.id,
          period,
          this.now,
        )
        const proof = { due, done, late, missed, withheld }
        expect(proof, `slot ${monitor.slot} at ${this.now}`).toEqual(proofOf(monitor, period, this.now))
      }
    }
  }

  async #record(claims: readonly CheckClaim[]) {
    const row = { created_at: START } as MonitorRow
    const results = claims.map(
      (claim): MonitorCheckResult => ({ claim, startedAt: this.now, at: this.now, row, kind: 'unchanged' }),
    )
    for (const result of results) {
      let lost = 0
      await recordChecks(this.#db, [result], this.now, (count) => {
        lost = count
      })
      if (lost > 0) continue
      const monitor = this.#monitors.get(result.claim.slot)!
      monitor.checks++
      monitor.lastAt = this.now
      monitor.times.push(this.now)
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
    await this.#endSchedule(monitor)
    monitor.frequency = this.#pick(INTERVALS)
    this.#beginSchedule(monitor)
    const due = monitor.isActive ? { due_at: this.now, claimed_by: null } : {}
    await this.#set(monitor, { frequency: monitor.frequency, ...due })
  }

  async #disableOrEnable() {
    const monitor = this.#pick([...this.#monitors.values()])
    await this.#leave(monitor)
    await this.#endSchedule(monitor)
    monitor.isActive = !monitor.isActive
    this.#beginSchedule(monitor)
    await this.#set(monitor, { due_at: monitor.isActive ? this.now : null, claimed_by: null })
  }

  /** At most half of them. What is being checked then has no result. */
  async #delete() {
    if (this.#monitors.size <= this.#leastMonitors) return
    const { id, slot } = this.#pick([...this.#monitors.values()])
    const rows = this.#db.selectFrom('monitors').select('organization_id').where('id', '=', id)
    const { organization_id } = await rows.executeTakeFirstOrThrow()
    await deleteMonitor(this.#db, systemContext(organization_id, this.now), id)
    this.#monitors.delete(slot)
  }

  async #endSchedule({ id, slot, isActive, frequency, schedules }: Expected) {
    const { last_checked_at, organization_id } = await this.#db
      .selectFrom('due_checks')
      .select(['last_checked_at', 'organization_id'])
      .where('slot', '=', slot)
      .executeTakeFirstOrThrow()
    const row = { id, organization_id, is_active: isActive ? (1 as const) : (0 as const), frequency }
    await insertPastSchedules(this.#db, [{ row, last_checked_at }], this.now)
    schedules.at(-1)!.to = this.now
  }

  #beginSchedule({ isActive, frequency, schedules }: Expected) {
    if (schedules.at(-1)!.from === this.now) schedules.pop() // it never applied
    schedules.push({ from: this.now, to: Number.POSITIVE_INFINITY, frequency: isActive ? frequency : 0 })
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

/** By the definition: a slot is done by the first check after it, if that comes before the next one and before the monitor is disabled. */
function proofOf(
  { slot, times, schedules }: Expected,
  { since, until }: { since: number; until: number },
  now: number,
) {
  const proof = { due: 0, done: 0, late: 0, missed: 0, withheld: 0 }
  const slots: { at: number; end: number }[] = []
  for (const [index, { from, to, frequency }] of schedules.entries()) {
    if (frequency === 0) continue
    const chainEnd =
      schedules.slice(index).find((schedule) => schedule.frequency === 0)?.from ?? Number.POSITIVE_INFINITY
    const end = Math.min(to, now)
    for (let at = nextDueAt(from, { slot, frequency }); at <= end; at += frequency * MINUTE_MS)
      slots.push({ at, end: chainEnd })
  }
  for (const [index, { at, end }] of slots.entries()) {
    const nextSlot = slots[index + 1]?.at ?? Number.POSITIVE_INFINITY
    const check = times.find((time) => time >= at)
    const isDone = check !== undefined && check < nextSlot && check <= end
    const isLastBeforeEnd = end <= nextSlot
    if (at <= since || at > until) continue
    if (!isDone && isLastBeforeEnd && Math.min(end, now) - at < 15_000) continue
    proof.due++
    if (!isDone) proof.missed++
    else proof.done++
    if (isDone && check - at > 5_000) proof.late++
  }
  return proof
}

/** Many more manually: HISTORIES=10000 npx vitest run server/checks/round-histories.test.ts */
const HISTORIES = Number(process.env.HISTORIES ?? 25)
const STEPS = 120

onBothEngines('rounds, whatever the processes and the users do,', (fresh, engine) => {
  test('count each check exactly, and leave no monitor out', { timeout: 60_000 + HISTORIES * 10_000 }, async () => {
    const histories = engine === 'sqlite' ? HISTORIES : Math.ceil(HISTORIES / 10)
    const db = await fresh()
    await sql`update migrations set applied_at = 0`.execute(db)
    for (let seed = 1; seed <= histories; seed++) {
      for (const table of ['round_gaps', 'check_gaps', 'past_schedules', 'due_rounds'] as const)
        await db.deleteFrom(table).execute()
      await db.deleteFrom('due_checks').execute()
      const random = randomOf(seed)
      const history = new History(db, await givenMonitors(db, 12, random), random)
      for (let count = 0; count < STEPS; count++) {
        await history.step()
        await history.expectCounts()
        if (count % 40 === 39) await history.expectProof()
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
      await history.expectProof()
      await history.expectAllChecked(since)
    }
  })
})
