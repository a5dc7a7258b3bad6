import type { MonitorState, Resolution } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Clock } from '../clock.ts'
import { isOneOfTenants, type TenantId } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { readDiagnosis } from '../monitors/diagnosis.ts'
import { changePhase, type PlannedChange } from '../planned-changes/planned-change.ts'
import { findOpenChange } from '../planned-changes/store.ts'
import type { Claim } from '../queue/lease-queue.ts'
import { recordTypeOf } from '../record-types/record-types.ts'
import { isBeforeWaitEnds, type Recorded } from './check-state.ts'
import type { MonitorRow } from './check-write.ts'
import { parseStoredFingerprint } from './fingerprint.ts'
import { oldAndNewValues, type StartedChange } from './planned-change-match.ts'
import type { LoadedMonitor } from './run-check.ts'

/**
 * Reads claimed monitors; undefined for a deleted one. Monitors requested at the same time are read by one statement. Their
 * checks continue together, so that they share queries.
 */
export function monitorLoader(
  db: Database,
  clock: Pick<Clock, 'now'>,
): (claim: Claim<'due_checks'>) => Promise<LoadedMonitor<MonitorRow> | undefined> {
  let batch: { monitors: TenantId[]; rows: Promise<Map<string, MonitorRow>> } | undefined
  const nextBatch = () => {
    const monitors: TenantId[] = []
    const rows = new Promise((resolve) => setImmediate(resolve)).then(() => {
      batch = undefined
      return readMonitors(db, monitors)
    })
    return { monitors, rows }
  }
  return async (claim) => {
    batch ??= nextBatch()
    batch.monitors.push({ organizationId: claim.organization_id, id: claim.monitor_id })
    const row = (await batch.rows).get(claim.monitor_id)
    if (!row || claim.planned_change_id === null) return row && { recorded: recordedOf(row, claim, clock.now()), row }
    const planned = await findOpenChange(db, row)
    return { recorded: recordedOf(row, claim, clock.now(), toStartedChange(planned, clock.now())), row, planned }
  }
}

async function readMonitors(db: Database, monitors: readonly TenantId[]): Promise<Map<string, MonitorRow>> {
  const rows = await db
    .selectFrom('monitors')
    .selectAll()
    .where(isOneOfTenants(db, 'monitors', monitors))
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** Undefined before its period begins. */
function toStartedChange(change: PlannedChange | undefined, now: number): StartedChange | undefined {
  if (!change || changePhase(change, now) === 'before') return undefined
  const { id, oldValues, newValues } = change
  return { id, oldValues, newValues, isOver: changePhase(change, now) === 'after' }
}

function recordedOf(row: MonitorRow, claim: Claim<'due_checks'>, now: number, change?: StartedChange): Recorded {
  const { recorded: fingerprint, isRotating } = parseStoredFingerprint(claim.fingerprint)
  return {
    owner: row.owner,
    recordType: recordTypeOf(row.record_type as MonitorRecordType),
    isExactMatch: row.is_exact_match === 1,
    expectedValues: change
      ? change.isOver
        ? change.newValues
        : oldAndNewValues(change)
      : (JSON.parse(row.expected_values) as string[]),
    change,
    state: row.state as MonitorState,
    values: row.current_values === null ? null : JSON.parse(row.current_values),
    fingerprint,
    isRotating,
    rotation: row.rotation === null ? null : JSON.parse(row.rotation),
    // Not 0, because then the first answer would end the check.
    inconclusiveCount: isBeforeWaitEnds(claim, now)
      ? Math.max(1, claim.inconclusive_count - 1)
      : claim.inconclusive_count,
    resolution: row.resolution as Resolution,
    hasOwnView: row.diagnosis !== null && readDiagnosis(row.diagnosis).hasOwnView === true,
  }
}
