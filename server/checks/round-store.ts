import { sql } from 'kysely'
import { updateEach } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { copyRoundGaps, insertRoundGap, LATE_MS } from '../monitors/check-gaps.ts'
import { lastCheckedAt, streakInRounds } from '../monitors/last-round.ts'
import { roundAt, roundStart } from '../monitors/round-ranges.ts'
import { type Claim, type ClaimOptions, claimDue, LEASE_MS, renewLeases, reschedule } from '../queue/lease-queue.ts'
import { MINUTE_MS } from '../times.ts'
import type { CheckClaim } from './run-check.ts'

export type RoundClaim = Claim<'due_rounds'>

/** `checks`: its monitors, in the order of their slots. Times are UTC epoch milliseconds. */
export type Round = { number: number; startedAt: number; checks: CheckClaim[] }

/** A range with more monitors is split in two. */
export const MAX_ROUND_SIZE = 750

export const claimRounds = (db: Database, options: ClaimOptions): Promise<RoundClaim[]> =>
  claimDue(db, 'due_rounds', options)

/** Reads the monitors of a claimed round. Undefined if nothing is to be done now: the round is finished already, or the range was split. */
export async function beginRound(
  db: Database,
  claim: RoundClaim,
  now: number,
  maxSize = MAX_ROUND_SIZE,
): Promise<Round | undefined> {
  const number = roundAt(claim, now)
  const isAhead = claim.round > number + 1 // the clock was set back
  if (claim.round >= number && !isAhead) {
    await planNext(db, claim, { round: claim.round, started_at: claim.started_at })
    return undefined
  }
  if (claim.round !== number - 1) await countUntilGap(db, claim, number)
  const rows = await readMonitors(db, claim, maxSize)
  if (rows.length > maxSize) {
    await split(db, claim, now)
    return undefined
  }
  const checks = rows.flatMap((read) => {
    const since = read.since_round!
    if (since > number) return [] // it has just been checked
    const slotTime = roundStart({ ...claim, first_slot: read.slot }, number)
    const lease = { due_at: slotTime, was_due_at: slotTime, claimed_by: claim.claimed_by }
    const lastSlotTime = slotTime - claim.frequency * MINUTE_MS
    const last_checked_at = since < number ? Math.max(claim.started_at, lastSlotTime) : read.last_checked_at
    return [{ ...read, ...lease, streak: read.streak + number - since, last_checked_at, read }]
  })
  return { number, startedAt: now, checks }
}

/**
 * Writes one row, and another one if the round was late or others were skipped before it. `delayMs`: how much later than its slot and the
 * start of the round a check began, at most. Returns false if another process has claimed the round meanwhile.
 */
export async function finishRound(db: Database, claim: RoundClaim, round: Round, delayMs = 0): Promise<boolean> {
  const { number, startedAt, checks } = round
  const last = { round: number, started_at: startedAt }
  const isLate = startedAt + delayMs - roundStart(claim, number) > LATE_MS
  if (checks.length === 0 || (!isLate && number <= claim.round + 1)) return await planNext(db, claim, last)
  const { frequency, first_slot, until_slot } = claim
  return await inTransaction(db, async (transaction) => {
    const isHeld = await planNext(transaction, claim, last)
    const gap = { frequency, first_slot, until_slot, ...last, delay_ms: delayMs }
    if (isHeld)
      await insertRoundGap(transaction, { ...gap, last_round: claim.round, last_started_at: claim.started_at })
    return isHeld
  })
}

/**
 * Moves monitors whose checks are slow from their round to the queue of rows, with a lease, so that the round can be finished. Changes
 * their claims. Those of monitors that have changed meanwhile stay as they are, and all if another process has claimed the round, because
 * it counts for them there.
 */
export async function leaveRound(
  db: Database,
  round: RoundClaim,
  claims: readonly CheckClaim[],
  now: number,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const [isHeld] = await renewLeases(transaction, 'due_rounds', [round], now)
    if (isHeld) await moveToQueue(transaction, claims, now)
  })
}

async function moveToQueue(db: Database, claims: readonly CheckClaim[], now: number): Promise<void> {
  const lease = { due_at: now + LEASE_MS, since_round: null }
  const moved = await updateEach(
    db,
    { table: 'due_checks', key: { slot: 'bigint', since_round: 'bigint' }, set: QUEUED },
    claims.map(({ slot, claimed_by, streak, last_checked_at, was_due_at, read }) => ({
      slot,
      since_round: read!.since_round,
      new_due_at: lease.due_at,
      new_claimed_by: claimed_by,
      new_was_due_at: was_due_at,
      new_since_round: null,
      new_streak: streak,
      new_last_checked_at: last_checked_at,
    })),
  )
  await copyRoundGaps(
    db,
    claims.filter((_, index) => moved[index]),
  )
  for (const [index, claim] of claims.entries()) if (moved[index]) Object.assign(claim, lease, { read: undefined })
}

const QUEUED = {
  due_at: 'bigint',
  claimed_by: 'bigint',
  was_due_at: 'bigint',
  since_round: 'bigint',
  streak: 'bigint',
  last_checked_at: 'bigint',
} as const

/** For a round that could not be finished: it is due again. */
export async function repeatRound(db: Database, claim: RoundClaim, dueAt: number): Promise<void> {
  await reschedule(db, 'due_rounds', [{ claim, set: { due_at: dueAt } }])
}

async function planNext(db: Database, claim: RoundClaim, last: { round: number; started_at: number }) {
  const planned_at = roundStart(claim, last.round + 1)
  const held = await reschedule(db, 'due_rounds', [{ claim, set: { ...last, planned_at, due_at: planned_at } }])
  return held.length > 0
}

/** One more than a round may have. */
async function readMonitors(db: Database, { frequency, first_slot, until_slot }: RoundClaim, maxSize: number) {
  return await db
    .selectFrom('due_checks')
    .selectAll()
    .where('frequency', '=', frequency)
    .where('slot', '>=', first_slot)
    .where('slot', '<', until_slot)
    .where('since_round', 'is not', null)
    .where('due_at', 'is', null)
    .orderBy('slot')
    .limit(maxSize + 1)
    .execute()
}

/**
 * Rounds were skipped, or the clock was set back: adds the rounds that were finished to the rows of the monitors, whose rounds count from
 * `number` on.
 */
async function countUntilGap(db: Database, claim: RoundClaim, number: number): Promise<void> {
  const { frequency, first_slot, until_slot } = claim
  await sql`update due_checks set streak = ${streakInRounds}, last_checked_at = ${lastCheckedAt}, since_round = ${number}
    where frequency = ${frequency} and slot >= ${first_slot} and slot < ${until_slot} and since_round is not null
      and due_at is null and (since_round < ${number} or since_round > ${number + 1})`.execute(db)
}

/** Both halves are due at once. */
async function split(db: Database, claim: RoundClaim, now: number): Promise<void> {
  const { frequency, first_slot, until_slot, round, started_at, planned_at } = claim
  const middle = Math.floor((first_slot + until_slot) / 2)
  await inTransaction(db, async (transaction) => {
    const set = { until_slot: middle, due_at: now }
    const held = await reschedule(transaction, 'due_rounds', [{ claim, set }])
    if (held.length === 0) return
    const half = {
      frequency,
      first_slot: middle,
      until_slot,
      round,
      started_at,
      planned_at,
      due_at: now,
      claimed_by: null,
    }
    await transaction.insertInto('due_rounds').values(half).execute()
  })
}
