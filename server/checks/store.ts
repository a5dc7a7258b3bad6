import type { Selectable } from 'kysely'
import type { MonitorState, Notify } from '#contract/monitors.ts'
import type { VerdictReason } from '#contract/reasons.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { insertInformation } from '../alerts/information-alerts.ts'
import { recordAudit } from '../audit-log.ts'
import type { Clock } from '../clock.ts'
import { systemContext } from '../context.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { type Claim, type Rescheduled, reschedule } from '../database/lease-queue.ts'
import type { MonitorsTable } from '../database/schema.ts'
import { nextVersion } from '../database/versions.ts'
import { isUsable } from '../dns/outcome.ts'
import { boundedValues } from '../events/bounded-values.ts'
import type { EventRow } from '../events/store.ts'
import { readDiagnosis } from '../monitors/diagnosis.ts'
import { isFailing, returnToIncidents } from '../monitors/incident-membership.ts'
import { monitorLabel } from '../monitors/monitor.ts'
import { recordTypeOf } from '../monitors/record-types/record-types.ts'
import { nextDueAt } from '../monitors/schedule.ts'
import {
  changeOutcome,
  changePhase,
  nextCheckAt,
  nextProgress,
  type OpenChange,
  type PlannedChange,
  type Progress,
} from '../planned-changes/planned-change.ts'
import { findOpenChange, recordProgress } from '../planned-changes/store.ts'
import type { Recorded } from './check.ts'
import type { CheckResult, LoadedMonitor } from './driver.ts'
import { evidenceOf, newDiagnosis, shortenReason, withLatest } from './evidence.ts'
import { type ExpectedChange, oldAndNewValues } from './expected-change.ts'
import { parseStoredFingerprint, storedFingerprint } from './fingerprint.ts'
import { type NewEvent, reportEvents } from './report.ts'
import { meetsValues } from './server-answers.ts'
import { conclude, evaluate } from './verdict.ts'

type MonitorRow = Selectable<MonitorsTable>
export type StoredResult = CheckResult<MonitorRow>

/**
 * Reads claimed monitors; undefined for a deleted one. Monitors requested at the same time are read by one statement. Their
 * checks continue together, so that they share queries.
 */
export function recordedLoader(
  db: Database,
  clock: Pick<Clock, 'now'>,
): (claim: Claim<'due_checks'>) => Promise<LoadedMonitor<MonitorRow> | undefined> {
  let batch: { ids: string[]; rows: Promise<Map<string, MonitorRow>> } | undefined
  const nextBatch = () => {
    const ids: string[] = []
    const rows = new Promise((resolve) => setImmediate(resolve)).then(() => {
      batch = undefined
      return readMonitors(db, ids)
    })
    return { ids, rows }
  }
  return async (claim) => {
    batch ??= nextBatch()
    batch.ids.push(claim.monitor_id)
    const row = (await batch.rows).get(claim.monitor_id)
    if (!row || claim.planned_change_id === null) return row && { recorded: recordedOf(row, claim), row }
    const planned = await findOpenChange(db, row)
    return { recorded: recordedOf(row, claim, toExpectedChange(planned, clock.now())), row, planned }
  }
}

async function readMonitors(db: Database, ids: readonly string[]): Promise<Map<string, MonitorRow>> {
  const rows = await db.selectFrom('monitors').selectAll().where('id', 'in', ids).execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** Undefined before its period begins. */
function toExpectedChange(change: PlannedChange | undefined, now: number): ExpectedChange | undefined {
  if (!change || changePhase(change, now) === 'before') return undefined
  const { id, oldValues, newValues } = change
  return { id, oldValues, newValues, isOver: changePhase(change, now) === 'after' }
}

function recordedOf(row: MonitorRow, claim: Claim<'due_checks'>, change?: ExpectedChange): Recorded {
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
    inconclusiveCount: claim.inconclusive_count,
  }
}

/** What a check writes, decided before the transaction begins. */
type CheckWrite = {
  result: StoredResult
  schedule: ScheduleUpdate
  columns?: Columns
  event?: EventDraft
  planned?: PlannedWrite
}
type ScheduleUpdate = Rescheduled<'due_checks', Claim<'due_checks'>>['set']
type Columns = Partial<
  Pick<MonitorRow, 'state' | 'current_values' | 'incidence_count' | 'diagnosis' | 'rotation' | 'expected_values'>
>
/** `end`: present if the change ends. Then its new values become the expected values. */
type PlannedWrite = { change: OpenChange; progress: Progress | null; end: ReturnType<typeof changeOutcome> }
/** The group and the id are added when the event is written. */
type EventDraft = Omit<EventRow, 'id' | 'group_id'>

/**
 * Records a batch of checks: their next times and, if something changed, monitors, events and webhook requests. A check that lost
 * its lease records nothing. Returns the number of events.
 */
export async function recordChecks(db: Database, results: readonly StoredResult[], now: number): Promise<number> {
  const writes = results
    .filter(({ kind }) => kind !== 'deleted')
    .map((result) => addPlannedChange(writeOf(result, now), now))
  if (writes.some(({ columns }) => columns)) {
    return await inTransaction(db, (transaction) => writeInTransaction(transaction, writes, now))
  }
  // Usually there is nothing else to write, and one statement needs no transaction.
  await reschedule(
    db,
    'due_checks',
    writes.map(({ result, schedule }) => ({ claim: result.claim, set: schedule })),
  )
  return 0
}

async function writeInTransaction(db: Database, writes: readonly CheckWrite[], now: number): Promise<number> {
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
      await db
        .updateTable('monitors')
        .set(columns)
        .where('organization_id', '=', organization_id)
        .where('id', '=', id)
        .execute()
    }
    if (event) newEvents.push({ event: { ...event, group_id }, notify: notify as Notify })
    else if (result.kind === 'verdict' && result.claim.fingerprint === null && isFailing(result.row!.state))
      await returnToIncidents(db, organization_id, [id], now)
  }
  await reportEvents(db, newEvents, now)
  return newEvents.length
}

function writeOf(result: StoredResult, now: number): CheckWrite {
  const { claim, at } = result
  const { fingerprint, streak, inconclusive_count } = claim
  const regular = {
    due_at: nextDueAt(now, claim),
    last_checked_at: at,
    postponed_since: null,
    fingerprint,
    streak,
    inconclusive_count,
  }
  const soon = (afterMs: number) => Math.min(Math.ceil(now + afterMs), regular.due_at)
  switch (result.kind) {
    case 'unchanged':
      return { result, schedule: { ...regular, streak: streak + 1 } }
    case 'postponed':
    case 'withheld':
      // There is no result, so only the next time changes.
      return { result, schedule: { ...regular, due_at: soon(result.afterMs), ...postponed(claim, at) } }
    case 'inconclusive': {
      const schedule = { ...regular, due_at: soon(result.afterMs), inconclusive_count: inconclusive_count + 1 }
      return { result, schedule, columns: { ...latestOf(result), rotation: json(result.rotation) } }
    }
    case 'verdict':
      return writeOfVerdict(result, regular)
    case 'deleted':
      return { result, schedule: regular }
  }
}

const postponed = ({ last_checked_at, postponed_since }: StoredResult['claim'], at: number) => ({
  last_checked_at,
  postponed_since: postponed_since ?? at,
})

function writeOfVerdict(result: Extract<StoredResult, { kind: 'verdict' }>, regular: ScheduleUpdate): CheckWrite {
  const { claim, at, confirmation, observations } = result
  const row = result.row!
  const { verdict, recorded, event: stateChange } = conclude(result.planned?.recorded ?? recordedOf(row, claim), result)
  const schedule = {
    ...regular,
    fingerprint: storedFingerprint(result.outcome),
    streak: verdict.state === row.state ? claim.streak + 1 : 1,
    inconclusive_count: 0,
  }
  const rotation = json(recorded.rotation)
  if (!stateChange)
    return {
      result,
      schedule,
      columns: { ...latestOf(result, verdict.reason), ...(rotation === row.rotation ? {} : { rotation }) },
    }
  const diagnosis = JSON.stringify(newDiagnosis({ reason: verdict.reason, confirmation, at }, evidenceOf(observations)))
  const columns: Columns = {
    state: stateChange.newState,
    current_values: json(recorded.values),
    incidence_count: row.incidence_count + (stateChange.oldState === 'UNSET' ? 0 : 1),
    diagnosis,
    rotation,
  }
  const bounded = boundedValues(
    { previous: stateChange.previous && [...stateChange.previous], current: stateChange.current ?? null },
    Buffer.byteLength(row.expected_values),
  )
  const event: EventDraft = {
    organization_id: row.organization_id,
    monitor_id: row.id,
    occurred_at: at,
    old_state: stateChange.oldState,
    new_state: stateChange.newState,
    previous_values: json(bounded.previous),
    current_values: json(bounded.current),
    truncated: bounded.isTruncated ? (1 as const) : (0 as const),
    incidence_count: stateChange.newState === stateChange.oldState ? claim.streak + 1 : 1,
    domain: row.domain,
    subdomain: row.subdomain,
    record_type: row.record_type,
    expected_values: row.expected_values,
    is_exact_match: row.is_exact_match,
    diagnosis,
  }
  return { result, schedule, columns, event }
}

/** Adds the progress of a planned change, its next check and, at its end, the new expected values. */
function addPlannedChange(write: CheckWrite, now: number): CheckWrite {
  const { result, schedule, columns = {}, event } = write
  if (!result.planned) return write
  const { change, recorded, seen, outcome } = result.planned
  const dueAt = schedule.due_at === null ? null : nextCheckAt(change, change.progress, now, schedule.due_at)
  if (!seen) return { ...write, schedule: { ...schedule, due_at: dueAt } }
  const progress = nextProgress(change.progress, seen, result.at)
  const isValid = outcome !== undefined && meetsValues(recorded, change.newValues, outcome)
  // After a failure the records are unknown, so the change stays open.
  const end = outcome && isUsable(outcome) ? changeOutcome(change, progress, { isValid, now: result.at }) : undefined
  const nextAt = schedule.due_at === null || end ? schedule.due_at : nextCheckAt(change, progress, now, schedule.due_at)
  const expected = end ? { expected_values: JSON.stringify(change.newValues) } : {}
  return {
    result,
    schedule: { ...schedule, due_at: nextAt },
    columns: { ...columns, ...expected, ...updatedReason(write, end) },
    ...(event && { event: { ...event, ...expected } }),
    planned: { change, progress, end },
  }
}

/** Updates the stored reason when a planned change begins or ends, also if state and values are unchanged. */
function updatedReason({ result, columns = {} }: CheckWrite, end: PlannedWrite['end']): Columns {
  const { change, recorded, outcome } = result.planned!
  const stored = columns.diagnosis ?? result.row!.diagnosis
  if (!outcome || stored == null) return {}
  const expectation = end === 'DONE' ? { ...recorded, expectedValues: change.newValues, change: undefined } : recorded
  const { reason } = evaluate(expectation, outcome)
  const diagnosis = readDiagnosis(stored)
  if (diagnosis.verdict.code === reason.code) return {}
  return { diagnosis: JSON.stringify({ ...diagnosis, verdict: shortenReason(reason) }) }
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
  await db
    .updateTable('monitors')
    .set(nextVersion)
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute()
  await db.updateTable('due_checks').set({ planned_change_id: null }).where('slot', '=', slot).execute()
  await recordAudit(db, systemContext(organizationId, now, { type: 'system', id: change.id, label: change.label }), {
    action: 'monitor.updated',
    object: { id, label: monitorLabel(row) },
    before: { expected_value: JSON.parse(row.expected_values) },
    after: { expected_value: change.newValues },
  })
  if (end !== 'DONE') return
  const ended = { what: 'change_done' as const, expected: [...change.newValues], before: [...change.oldValues] }
  await insertInformation(db, row, ended, now)
}

/** Adds the evidence of a check without a change to the diagnosis of the last change. */
function latestOf(
  result: Extract<StoredResult, { kind: 'verdict' | 'inconclusive' }>,
  reason?: VerdictReason,
): Columns {
  const { row, confirmation, at, observations } = result
  if (!row || row.diagnosis === null) return {}
  const stored = readDiagnosis(row.diagnosis)
  // The planned change of the stored reason may have been deleted.
  const isPlanned = 'new_value' in stored.verdict.params
  const before = reason && isPlanned ? { ...stored, verdict: shortenReason(reason) } : stored
  return { diagnosis: JSON.stringify(withLatest(before, { confirmation, at }, evidenceOf(observations))) }
}

function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
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
