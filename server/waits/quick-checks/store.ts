import type { Selectable } from 'kysely'
import type { MonitorState, Notify } from '#contract/monitors.ts'
import { reportEvents } from '../../checks/report.ts'
import { type Database, inTransaction } from '../../database/database.ts'
import { forUpdate } from '../../database/dialect.ts'
import type { MonitorsTable } from '../../database/schema.ts'
import { findTenantRow, updateTenantRow } from '../../database/tenant-row.ts'
import { type NewEventRow, newEvent } from '../../events/new-event.ts'
import { readDiagnosis } from '../../monitors/diagnosis.ts'
import { streakInRounds } from '../../monitors/last-round.ts'
import { leaveRounds } from '../../monitors/rounds.ts'
import { type Claim, complete, reschedule } from '../../queue/lease-queue.ts'
import { markEnded } from '../end-waits.ts'
import { countOpenWaits, MAX_WAITING_LIMIT } from '../waits.ts'
import { nextQuickCheckIn, type QuickCheckResult } from './quick-check.ts'

export type WaitClaim = Claim<'due_waits'>
export type WaitRow = NonNullable<Awaited<ReturnType<typeof findClaimedWait>>>

/** Undefined if the monitor was deleted or no longer waits. */
export async function findClaimedWait(db: Database, { organization_id, monitor_id }: WaitClaim) {
  return await db
    .selectFrom('waits')
    .innerJoin('monitors', 'monitors.id', 'waits.monitor_id')
    .select(['waits.started_at', 'waits.deadline_at', 'waits.check_count'])
    .select(['monitors.owner', 'monitors.record_type', 'monitors.is_exact_match', 'monitors.expected_values'])
    .select(['monitors.state', 'monitors.is_active', 'monitors.frequency', 'monitors.slot'])
    .where('waits.organization_id', '=', organization_id)
    .where('waits.monitor_id', '=', monitor_id)
    .where('waits.ended_at', 'is', null)
    .where('monitors.organization_id', '=', organization_id)
    .executeTakeFirst()
}

/** Ends a wait whose records were found, or whose monitor no longer waits. The regular check wrote the event. */
export async function endWait(
  db: Database,
  claim: WaitClaim,
  result: 'valid' | 'timed_out' | undefined,
  now: number,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    await lockWait(transaction, claim)
    if ((await complete(transaction, 'due_waits', [claim])).length === 0 || !result) return
    await markEnded(transaction, claim, result, now)
  })
}

/** Call it before locking the row in `due_waits`: starting and stopping a wait lock in this order. */
async function lockWait(db: Database, { organization_id, monitor_id }: WaitClaim): Promise<void> {
  await db
    .selectFrom('waits')
    .select('monitor_id')
    .where('organization_id', '=', organization_id)
    .where('monitor_id', '=', monitor_id)
    .modifyEnd(forUpdate(db))
    .execute()
}

/** Records a quick check and its next time. `result`: undefined if no query was sent. Returns whether it made the regular check due. */
export async function recordQuickCheck(
  db: Database,
  claim: WaitClaim,
  row: WaitRow,
  result: { seen: QuickCheckResult | undefined; queries: number } | undefined,
  now: number,
): Promise<boolean> {
  const { organization_id, monitor_id } = claim
  const isFound = result?.seen?.state === 'VALID' && row.state !== 'VALID'
  return await inTransaction(db, async (transaction) => {
    await lockWait(transaction, claim)
    const inMs = nextQuickCheckIn({
      ageMs: now - row.started_at,
      frequency: row.frequency,
      open: await countOpenWaits(transaction, organization_id, MAX_WAITING_LIMIT),
      queries: result?.queries ?? 0,
      isConfirming: isFound,
    })
    const set = { due_at: Math.min(now + inMs, row.deadline_at) }
    const held = await reschedule(transaction, 'due_waits', [{ claim, set }])
    if (held.length === 0 || !result?.seen) return false
    await transaction
      .updateTable('waits')
      .set({ seen: JSON.stringify(result.seen), seen_at: now, check_count: row.check_count + 1 })
      .where('organization_id', '=', organization_id)
      .where('monitor_id', '=', monitor_id)
      .execute()
    return isFound && (await makeCheckDue(transaction, row.slot, now))
  })
}

/**
 * Makes the regular check due as if the previous one had been inconclusive, so that a cached denial does not end it and the
 * zone's name servers decide.
 */
async function makeCheckDue(db: Database, slot: number, now: number): Promise<boolean> {
  await leaveRounds(db, [slot], now)
  const { numUpdatedRows } = await db
    .updateTable('due_checks')
    .set({ due_at: now, inconclusive_count: 1 })
    .where('slot', '=', slot)
    .where('due_at', 'is not', null)
    .where('claimed_by', 'is', null)
    .where('inconclusive_count', '=', 0)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Ends a wait without the records. Writes an event with the current state for all webhooks of the group, whatever `notify` says,
 * except for a monitor that is disabled or was never checked. Returns whether there is an event.
 */
export async function timeOutWait(db: Database, claim: WaitClaim, now: number): Promise<boolean> {
  const tenant = { organizationId: claim.organization_id }
  return await inTransaction(db, async (transaction) => {
    const monitor = await findTenantRow(transaction, 'monitors', tenant, claim.monitor_id, forUpdate(transaction))
    await lockWait(transaction, claim)
    const held = await complete(transaction, 'due_waits', [claim])
    if (held.length === 0 || !monitor) return false
    if (monitor.state === 'VALID') {
      await markEnded(transaction, claim, 'valid', now)
      return false
    }
    await markEnded(transaction, claim, 'timed_out', now)
    if (monitor.is_active === 0 || monitor.state === 'UNSET') return false
    const set = { incidence_count: monitor.incidence_count + 1 }
    await updateTenantRow(transaction, 'monitors', tenant, monitor.id, set)
    const { streak } = await transaction
      .selectFrom('due_checks')
      .select(streakInRounds.as('streak'))
      .where('slot', '=', monitor.slot)
      .executeTakeFirstOrThrow()
    await reportEvents(
      transaction,
      [{ event: timedOutEvent(monitor, streak, now), notify: monitor.notify as Notify }],
      now,
    )
    return true
  })
}

function timedOutEvent(monitor: Selectable<MonitorsTable>, streak: number, now: number): NewEventRow {
  const state = monitor.state as MonitorState
  const values: string[] | null = monitor.current_values === null ? null : JSON.parse(monitor.current_values)
  // In these states events have no current values.
  const hasValues = state !== 'TIMEOUT' && state !== 'INVALID' && state !== 'BAD_SETUP'
  const confirmation = [{ code: 'wait_timed_out' as const, params: {} }]
  const event = newEvent(monitor, {
    at: now,
    oldState: state,
    newState: state,
    previous: values,
    current: hasValues ? values : null,
    incidenceCount: Math.max(1, streak),
    diagnosis:
      monitor.diagnosis === null ? null : JSON.stringify({ ...readDiagnosis(monitor.diagnosis), confirmation }),
  })
  return { ...event, timed_out: 1 }
}
