import type { Selectable } from 'kysely'
import type { MonitorState, Notify } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { evaluateSoon } from '../alerts/evaluate.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { type Claim, type Rescheduled, reschedule } from '../database/lease-queue.ts'
import type { MonitorsTable } from '../database/schema.ts'
import { boundedValues } from '../events/bounded-values.ts'
import { isNotified } from '../events/notify.ts'
import { type EventRow, insertEvents, newEventIds, toEvent } from '../events/store.ts'
import { readDiagnosis } from '../monitors/diagnosis.ts'
import { nextDueAt } from '../monitors/schedule.ts'
import { insertRequests } from '../webhooks/new-requests.ts'
import type { Recorded } from './check.ts'
import type { CheckResult } from './driver.ts'
import { evidenceOf, newDiagnosis, withLatest } from './evidence.ts'
import { conclude } from './state-machine.ts'
import { readFingerprint, writtenFingerprint } from './verdict.ts'

type MonitorRow = Selectable<MonitorsTable>
export type StoredResult = CheckResult<MonitorRow>

export type Loaded = { recorded: Recorded; row: MonitorRow }

/**
 * Reads what is recorded of claimed monitors; undefined for one that was deleted meanwhile. Those asked for at the same time are
 * read by one statement, and their checks go on together, so that they share their queries.
 */
export function recordedLoader(db: Database): (claim: Claim<'due_checks'>) => Promise<Loaded | undefined> {
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
    return row && { recorded: recordedOf(row, claim), row }
  }
}

async function readMonitors(db: Database, ids: readonly string[]): Promise<Map<string, MonitorRow>> {
  const rows = await db.selectFrom('monitors').selectAll().where('id', 'in', ids).execute()
  return new Map(rows.map((row) => [row.id, row]))
}

function recordedOf(row: MonitorRow, claim: Claim<'due_checks'>): Recorded {
  const { recorded: fingerprint, isRotating } = readFingerprint(claim.fingerprint)
  return {
    owner: row.owner,
    recordType: row.record_type as MonitorRecordType,
    isExactMatch: row.is_exact_match === 1,
    expectedValues: JSON.parse(row.expected_values),
    state: row.state as MonitorState,
    values: row.current_values === null ? null : JSON.parse(row.current_values),
    fingerprint,
    isRotating,
    rotation: row.rotation === null ? null : JSON.parse(row.rotation),
    inconclusive: claim.doubts,
  }
}

/** What a check changes, decided before the transaction begins. */
type Change = { result: StoredResult; place: Place; columns?: Columns; event?: NewEvent }
type Place = Rescheduled<'due_checks', Claim<'due_checks'>>['set']
type Columns = Partial<Pick<MonitorRow, 'state' | 'current_values' | 'incidence_count' | 'diagnosis' | 'rotation'>>
/** The group is the monitor's when the event is written, and ids are given in the order of the events. */
type NewEvent = Omit<EventRow, 'id' | 'group_id'>

/**
 * Records a batch of checks at once: their places in the schedule and, where something changed, monitor, event and webhook
 * requests. A check whose claim is no longer its own records nothing. Returns how many events it made.
 */
export async function recordChecks(db: Database, results: readonly StoredResult[], now: number): Promise<number> {
  const changes = results.filter(({ kind }) => kind !== 'deleted').map((result) => changeOf(result, now))
  if (changes.some(({ columns }) => columns)) {
    return await inTransaction(db, async (transaction) => await writeChanges(transaction, changes, now))
  }
  // One statement, which needs no transaction around it: mostly there is nothing else to write.
  await reschedule(
    db,
    'due_checks',
    changes.map(({ result, place }) => ({ claim: result.claim, set: place })),
  )
  return 0
}

async function writeChanges(db: Database, changes: readonly Change[], now: number): Promise<number> {
  const monitors = await lockMonitors(db, changes)
  const existing = changes.filter(({ columns, result }) => !columns || monitors.has(result.claim.monitor_id))
  const places = existing.map(({ result, place }) => ({ claim: result.claim, set: place }))
  const held = new Set(await reschedule(db, 'due_checks', places))
  const made: { event: Omit<EventRow, 'id'>; notify: Notify }[] = []
  for (const { result, columns, event } of existing) {
    if (!columns || !held.has(result.claim)) continue
    const { id, organization_id, group_id, notify } = monitors.get(result.claim.monitor_id)!
    if (Object.keys(columns).length > 0) {
      await db
        .updateTable('monitors')
        .set(columns)
        .where('organization_id', '=', organization_id)
        .where('id', '=', id)
        .execute()
    }
    if (event) made.push({ event: { ...event, group_id }, notify: notify as Notify })
  }
  const ids = await newEventIds(
    db,
    made.map(({ event }) => event.organization_id),
    now,
  )
  const events = made.map(({ event }, index): EventRow => ({ ...event, id: ids[index]! }))
  await insertEvents(db, events)
  await evaluateSoon(
    db,
    events.map((event) => event.organization_id),
    now,
  )
  const reported = events.filter((event, index) =>
    isNotified(made[index]!.notify, event.old_state as MonitorState, event.new_state as MonitorState),
  )
  await insertRequests(
    db,
    reported.map((event) => ({
      organizationId: event.organization_id,
      groupId: event.group_id,
      event: toEvent(event),
    })),
    now,
  )
  return events.length
}

function changeOf(result: StoredResult, now: number): Change {
  const { claim, at } = result
  const { fingerprint, streak, doubts } = claim
  const regular = {
    due_at: nextDueAt(now, claim),
    last_checked_at: at,
    postponed_since: null,
    fingerprint,
    streak,
    doubts,
  }
  const soon = (afterMs: number) => Math.min(Math.ceil(now + afterMs), regular.due_at)
  switch (result.kind) {
    case 'unchanged':
      return { result, place: { ...regular, streak: streak + 1 } }
    case 'postponed':
    case 'withheld':
      // Nothing was learned, so nothing changes but the time.
      return { result, place: { ...regular, due_at: soon(result.afterMs), ...postponed(claim, at) } }
    case 'inconclusive': {
      const place = { ...regular, due_at: soon(result.afterMs), doubts: doubts + 1 }
      return { result, place, columns: { ...latestOf(result), rotation: json(result.rotation) } }
    }
    case 'verdict':
      return verdictChange(result, regular)
    case 'deleted':
      return { result, place: regular }
  }
}

const postponed = ({ last_checked_at, postponed_since }: StoredResult['claim'], at: number) => ({
  last_checked_at,
  postponed_since: postponed_since ?? at,
})

function verdictChange(result: Extract<StoredResult, { kind: 'verdict' }>, regular: Place): Change {
  const { claim, at, decided, observations } = result
  const row = result.row!
  const { verdict, recorded, event: change } = conclude(recordedOf(row, claim), result)
  const place = {
    ...regular,
    fingerprint: writtenFingerprint(result.outcome),
    streak: verdict.state === row.state ? claim.streak + 1 : 1,
    doubts: 0,
  }
  const rotation = json(recorded.rotation)
  if (!change)
    return { result, place, columns: { ...latestOf(result), ...(rotation === row.rotation ? {} : { rotation }) } }
  const diagnosis = JSON.stringify(newDiagnosis({ reason: verdict.reason, decided, at }, evidenceOf(observations)))
  const columns: Columns = {
    state: change.newState,
    current_values: json(recorded.values),
    incidence_count: row.incidence_count + (change.oldState === 'UNSET' ? 0 : 1),
    diagnosis,
    rotation,
  }
  const bounded = boundedValues(
    { previous: change.previous && [...change.previous], current: change.current ?? null },
    Buffer.byteLength(row.expected_values),
  )
  const event: NewEvent = {
    organization_id: row.organization_id,
    monitor_id: row.id,
    occurred_at: at,
    old_state: change.oldState,
    new_state: change.newState,
    previous_values: json(bounded.previous),
    current_values: json(bounded.current),
    truncated: bounded.isTruncated ? (1 as const) : (0 as const),
    incidence_count: change.newState === change.oldState ? claim.streak + 1 : 1,
    domain: row.domain,
    subdomain: row.subdomain,
    record_type: row.record_type,
    expected_values: row.expected_values,
    is_exact_match: row.is_exact_match,
    diagnosis,
  }
  return { result, place, columns, event }
}

/** The evidence of a check that changed nothing, beside that of the last change. */
function latestOf(result: Extract<StoredResult, { kind: 'verdict' | 'inconclusive' }>): Columns {
  const { row, decided, at, observations } = result
  if (!row || row.diagnosis === null) return {}
  const before = readDiagnosis(row.diagnosis)
  return { diagnosis: JSON.stringify(withLatest(before, { decided, at }, evidenceOf(observations))) }
}

function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

/** The wide rows of checks that change them, locked until the transaction ends: only these are touched at all. */
async function lockMonitors(db: Database, changes: readonly Change[]) {
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
