import { sql } from 'kysely'
import type { Notify } from '#contract/monitors.ts'
import { insertInformationAlerts } from '../alerts/information-alerts.ts'
import { recordAudit } from '../audit-log.ts'
import { systemContext } from '../context.ts'
import { isOneOf, isOneOfTenants } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { updateTenantRow } from '../database/tenant-row.ts'
import { nextVersion } from '../database/versions.ts'
import type { DnsClient } from '../dns/client.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Tracing } from '../metrics/tracing.ts'
import { copyRoundGaps, insertCheckGaps } from '../monitors/check-gaps.ts'
import { isFailing, returnToIncidents } from '../monitors/incident-membership.ts'
import { monitorLabel } from '../monitors/monitor.ts'
import { createRounds } from '../monitors/rounds.ts'
import { recordStateChanges, type StateChange } from '../monitors/state-days.ts'
import { recordProgress } from '../planned-changes/store.ts'
import { LEASE_MS, reschedule, setSchedules, type Waits } from '../queue/lease-queue.ts'
import type { WakeUps } from '../queue/wake-up.ts'
import type { WorkerDeps } from '../queue/worker-loop.ts'
import { WriteBatches } from '../queue/write-batches.ts'
import { endFoundWaits } from '../waits/end-waits.ts'
import { observeChecks } from './check-metrics.ts'
import {
  type CheckWrite,
  checkWriteOf,
  type MonitorCheckResult,
  type MonitorRow,
  type PlannedWrite,
} from './check-write.ts'
import { type NewEvent, reportEvents } from './report.ts'
import type { CheckClaim } from './run-check.ts'

/**
 * Records a batch of checks: their next times and, if something changed, monitors, events and webhook requests. A check that lost
 * its lease is recorded too if the monitor is still what it was and nobody else recorded it: on a busy machine no result would ever be
 * in time. `onLost`: how many results were rejected. Returns the number of events.
 */
export async function recordChecks(
  db: Database,
  results: readonly MonitorCheckResult[],
  now: number,
  onLost: (leases: number) => void = () => {},
): Promise<number> {
  const writes = results.filter(({ kind }) => kind !== 'deleted').map((result) => checkWriteOf(result, now))
  if (writes.some(({ columns, gap }) => columns || gap)) {
    const { events, lost } = await inTransaction(db, (transaction) => writeInTransaction(transaction, writes, now))
    onLost(lost)
    return events
  }
  const joining = writes.flatMap(joiningOf)
  if (joining.length > 0) await createRounds(db, joining)
  // Usually there is nothing else to write, and one statement needs no transaction.
  const held = await rescheduleLeased(db, writes)
  const late = lateWrites(writes, held)
  if (late.length === 0) return 0
  onLost(late.length - (await inTransaction(db, (transaction) => recordLate(transaction, late))).length)
  return 0
}

/** The monitors of the claims whose leases were held. */
async function rescheduleLeased(db: Database, writes: readonly CheckWrite[]): Promise<Set<CheckClaim>> {
  const leased = writes.filter(({ result }) => !result.claim.read)
  const items = leased.map(({ result, schedule }) => ({ claim: result.claim, set: schedule }))
  return new Set(await reschedule<'due_checks', CheckClaim>(db, 'due_checks', items))
}

function joiningOf({ result, schedule }: CheckWrite) {
  const { slot, frequency } = result.claim
  const { since_round } = schedule
  return since_round == null ? [] : [{ slot, frequency, since_round }]
}

const lateWrites = (writes: readonly CheckWrite[], held: ReadonlySet<CheckClaim>) =>
  writes.filter(({ result }) => !held.has(result.claim))

/** What every recorded check and every change of a monitor's definition changes. */
const UNCHANGED_COLUMNS = [
  ...(['monitor_id', 'owner', 'record_type', 'is_exact_match', 'frequency', 'planned_change_id'] as const),
  ...(['fingerprint', 'streak', 'inconclusive_count', 'last_checked_at', 'postponed_since', 'since_round'] as const),
]

/** Records the checks whose rows are as they were when they were read, also if another process holds them now. Returns their claims. */
async function recordLate(db: Database, writes: readonly CheckWrite[]): Promise<CheckClaim[]> {
  if (writes.length === 0) return []
  const slots = writes.map(({ result }) => result.claim.slot)
  const rows = await db
    .selectFrom('due_checks')
    .select(['slot', 'due_at', ...UNCHANGED_COLUMNS])
    .where(isOneOf(db, 'slot', slots, 'bigint'))
    .orderBy('slot')
    .modifyEnd(forUpdate(db))
    .execute()
  const bySlot = new Map(rows.map((row) => [row.slot, row]))
  const same = writes.filter(({ result: { claim } }) => {
    const row = bySlot.get(claim.slot)
    // A disabled monitor is not due. Neither is one that is checked in rounds.
    const isActive = row && (row.due_at !== null || row.since_round !== null)
    const read = claim.read ?? claim
    return isActive && UNCHANGED_COLUMNS.every((name) => row[name] === read[name])
  })
  await copyRoundGaps(
    db,
    same.flatMap(({ result: { claim } }) => (claim.read ? [claim] : [])),
  )
  await setSchedules(
    db,
    same.map(({ result, schedule }) => ({ slot: result.claim.slot, set: schedule })),
  )
  return same.map(({ result }) => result.claim)
}

async function writeInTransaction(db: Database, writes: readonly CheckWrite[], now: number) {
  const monitors = await lockMonitors(db, writes)
  const existing = writes.filter(({ columns, result }) => !columns || monitors.has(result.claim.monitor_id))
  await createRounds(db, existing.flatMap(joiningOf))
  const held = await rescheduleLeased(db, existing)
  const late = lateWrites(existing, held).filter(({ columns, result }) => {
    // `due_checks` does not have the expected values. A result without changes does not depend on them.
    const monitor = monitors.get(result.claim.monitor_id)
    return !columns || monitor?.version === result.row?.version
  })
  for (const claim of await recordLate(db, late)) held.add(claim)
  await insertCheckGaps(
    db,
    existing.flatMap(({ result: { claim }, gap }) => {
      const { organization_id, monitor_id } = claim
      return gap && held.has(claim) ? [{ organization_id, monitor_id, ...gap }] : []
    }),
  )
  const newEvents: NewEvent[] = []
  const stateChanges: StateChange[] = []
  const found: { id: string; organization_id: string }[] = []
  for (const { result, columns, event, planned } of existing) {
    if (!columns || !held.has(result.claim)) continue
    const monitor = monitors.get(result.claim.monitor_id)!
    const { id, organization_id, group_id, notify } = monitor
    if (planned) await recordPlannedChange(db, result.row!, planned, now)
    if (Object.keys(columns).length > 0) {
      await updateTenantRow(db, 'monitors', { organizationId: organization_id }, id, columns)
    }
    if (columns.state !== undefined && columns.state !== monitor.state) stateChanges.push({ monitor, at: result.at })
    if (columns.state === 'VALID') found.push({ id, organization_id })
    if (event) newEvents.push({ event: { ...event, group_id }, notify: notify as Notify })
    else if (result.kind === 'verdict' && result.claim.fingerprint === null && isFailing(result.row!.state))
      await returnToIncidents(db, organization_id, [id], now)
  }
  await recordStateChanges(db, stateChanges)
  await endFoundWaits(db, found, now)
  await reportEvents(db, newEvents, now)
  return { events: newEvents.length, lost: existing.length - held.size }
}

async function recordPlannedChange(
  db: Database,
  row: MonitorRow,
  { change, progress, end }: PlannedWrite,
  now: number,
) {
  const { organization_id: organizationId, id, slot } = row
  await recordProgress(db, { organizationId, id: change.id }, progress, end && { outcome: end, now })
  if (!end) return
  await updateTenantRow(db, 'monitors', { organizationId }, id, nextVersion)
  await db.updateTable('due_checks').set({ planned_change_id: null }).where('slot', '=', slot).execute()
  await recordAudit(db, systemContext(organizationId, now, { type: 'system', id: change.id, label: change.label }), {
    action: 'monitor.updated',
    object: { id, label: monitorLabel(row) },
    before: { expected_value: JSON.parse(row.expected_values) },
    after: { expected_value: change.newValues },
  })
  // Of a job there may be thousands, and GET /planned-changes/counts has the progress.
  if (end !== 'DONE' || change.jobId !== null) return
  const ended = { what: 'change_done' as const, expected: [...change.newValues], before: [...change.oldValues] }
  await insertInformationAlerts(db, row, ended, now)
}

/** Locks the rows of the monitors that change. Other monitors are not read. */
async function lockMonitors(db: Database, changes: readonly CheckWrite[]) {
  const locked = changes.flatMap(({ columns, result: { claim } }) =>
    columns ? [{ organizationId: claim.organization_id, id: claim.monitor_id }] : [],
  )
  if (locked.length === 0) return new Map()
  const rows = await db
    .selectFrom('monitors')
    .select(['id', 'organization_id', 'group_id', 'notify', 'version', 'state', 'created_at'])
    .where(isOneOfTenants(db, 'monitors', locked))
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

export type CheckWorkerDeps = WorkerDeps & {
  dns: DnsClient
  wakeUps: WakeUps
  metrics?: Metrics
  tracing?: Tracing | undefined
}

/** Results within this time are written together, and due checks claimed together. With 5 ms a check costs a tenth more CPU. */
export const GATHER_MS = 20

/** Moves by whole intervals, so that each monitor keeps its slot. */
export const CLOCK_STEP_REPAIR: Waits = {
  longestMs: sql`frequency * 60000`,
  leastMs: 5 * 60_000,
  again: (now) => sql`due_at - (due_at - ${now}) / (frequency * 60000) * (frequency * 60000)`,
}

/** Early enough that a renewal that waits for the database still comes in time. */
export const RENEW_AFTER_MS = LEASE_MS / 4

/** Records results in batches. */
export function checkRecords({ db, clock, log, loopHealth, wakeUps, metrics }: CheckWorkerDeps) {
  return new WriteBatches<MonitorCheckResult>(
    async (results) => {
      const events = await recordChecks(db, results, clock.now(), (leases) => metrics?.lostLeases(leases))
      if (metrics) observeChecks(metrics, results, events)
      if (events === 0) return
      wakeUps.requests.send()
      wakeUps.evaluations.send()
      log.debug({ events }, 'Changes recorded.')
    },
    {
      clock,
      gatherMs: GATHER_MS,
      onWritten: () => loopHealth.recorded('checker'),
      onGivenUp: (err) => {
        loopHealth.notRecorded('checker', clock.elapsed())
        log.error({ err }, 'A check could not be recorded. It will be repeated.')
      },
    },
  )
}
