import type { Notify } from '#contract/monitors.ts'
import { insertInformationAlerts } from '../alerts/information-alerts.ts'
import { recordAudit } from '../audit-log.ts'
import { systemContext } from '../context.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { reschedule } from '../database/lease-queue.ts'
import { updateTenantRow } from '../database/tenant-row.ts'
import { nextVersion } from '../database/versions.ts'
import { isFailing, returnToIncidents } from '../monitors/incident-membership.ts'
import { monitorLabel } from '../monitors/monitor.ts'
import { recordProgress } from '../planned-changes/store.ts'
import {
  type CheckWrite,
  checkWriteOf,
  type MonitorCheckResult,
  type MonitorRow,
  type PlannedWrite,
} from './check-write.ts'
import { type NewEvent, reportEvents } from './report.ts'

/**
 * Records a batch of checks: their next times and, if something changed, monitors, events and webhook requests. A check that lost
 * its lease records nothing. Returns the number of events.
 */
export async function recordChecks(
  db: Database,
  results: readonly MonitorCheckResult[],
  now: number,
  onLost: (leases: number) => void = () => {},
): Promise<number> {
  const writes = results.filter(({ kind }) => kind !== 'deleted').map((result) => checkWriteOf(result, now))
  if (writes.some(({ columns }) => columns)) {
    const { events, lost } = await inTransaction(db, (transaction) => writeInTransaction(transaction, writes, now))
    onLost(lost)
    return events
  }
  // Usually there is nothing else to write, and one statement needs no transaction.
  const held = await reschedule(
    db,
    'due_checks',
    writes.map(({ result, schedule }) => ({ claim: result.claim, set: schedule })),
  )
  onLost(writes.length - held.length)
  return 0
}

async function writeInTransaction(db: Database, writes: readonly CheckWrite[], now: number) {
  const monitors = await lockMonitors(db, writes)
  const existing = writes.filter(({ columns, result }) => !columns || monitors.has(result.claim.monitor_id))
  const schedules = existing.map(({ result, schedule }) => ({ claim: result.claim, set: schedule }))
  const held = new Set(await reschedule(db, 'due_checks', schedules))
  const newEvents: NewEvent[] = []
  for (const { result, columns, event, planned } of existing) {
    if (!columns || !held.has(result.claim)) continue
    const { id, organization_id, group_id, notify } = monitors.get(result.claim.monitor_id)!
    if (planned) await recordPlannedChange(db, result.row!, planned, now)
    if (Object.keys(columns).length > 0) {
      await updateTenantRow(db, 'monitors', { organizationId: organization_id }, id, columns)
    }
    if (event) newEvents.push({ event: { ...event, group_id }, notify: notify as Notify })
    else if (result.kind === 'verdict' && result.claim.fingerprint === null && isFailing(result.row!.state))
      await returnToIncidents(db, organization_id, [id], now)
  }
  await reportEvents(db, newEvents, now)
  return { events: newEvents.length, lost: schedules.length - held.size }
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
  if (end !== 'DONE') return
  const ended = { what: 'change_done' as const, expected: [...change.newValues], before: [...change.oldValues] }
  await insertInformationAlerts(db, row, ended, now)
}

/** Locks the rows of the monitors that change. Other monitors are not read. */
async function lockMonitors(db: Database, changes: readonly CheckWrite[]) {
  const ids = changes.flatMap(({ columns, result }) => (columns ? [result.claim.monitor_id] : []))
  const rows = await db
    .selectFrom('monitors')
    .select(['id', 'organization_id', 'group_id', 'notify'])
    .where('id', 'in', ids)
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}
