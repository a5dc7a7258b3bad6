import type { Selectable } from 'kysely'
import type { MonitorRecordType, MonitorState, Notify } from '#contract/monitors.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { type WriteBack, writeBack } from '../database/due.ts'
import type { MonitorsTable } from '../database/schema.ts'
import type { Outcome } from '../dns/outcome.ts'
import { isNotified } from '../events/notify.ts'
import { type EventRow, insertEvents, toEvent } from '../events/store.ts'
import { newId } from '../ids.ts'
import { nextDueAt } from '../monitors/schedule.ts'
import { insertRequests } from '../webhooks/new-requests.ts'
import { diagnosisText } from './diagnosis.ts'
import { judge, type Verdict, writtenFingerprint } from './judge.ts'
import { withRecorded } from './pool.ts'
import type { CheckResult } from './run-check.ts'

/** When to ask again after the first, second and third time in a row that the paths disagreed. */
const DOUBT_DELAYS_MS = [30_000, 60_000, 120_000]
/** When to ask again where our own network was at fault. */
const WITHHELD_DELAY_MS = 5_000

type MonitorRow = Selectable<MonitorsTable>
type Settled = Extract<CheckResult, { kind: 'settled' }>
/** What a settled check changes: `event` is absent where state and values are those recorded. */
type Change = { monitor: MonitorRow; outcome: Outcome; verdict: Verdict; event?: EventRow; diagnosis: string }

/**
 * Records a batch of checks at once: their places in the schedule and, where something changed, monitor, event and webhook
 * requests. A check whose claim is no longer its own records nothing. Returns how many events it made.
 */
export async function recordChecks(db: Database, results: readonly CheckResult[], now: number): Promise<number> {
  const unsettled = results.filter((result) => result.kind !== 'settled')
  if (unsettled.length < results.length) return await recordWithSettled(db, results, now)
  // One statement, which needs no transaction around it: mostly there is nothing else to write.
  await writeBack(
    db,
    'due_checks',
    unsettled.map((result) => ({ claim: result.claim, set: placeOfUnsettled(result, now) })),
  )
  return 0
}

async function recordWithSettled(db: Database, results: readonly CheckResult[], now: number): Promise<number> {
  return await inTransaction(db, async (transaction) => {
    const monitors = await lockMonitors(transaction, results)
    const changes = new Map<CheckResult, Change>()
    const items = results.flatMap((result): WriteBack<'due_checks'>[] => {
      if (result.kind !== 'settled') return [{ claim: result.claim, set: placeOfUnsettled(result, now) }]
      const monitor = monitors.get(result.claim.monitor_id)
      if (!monitor) return [] // deleted meanwhile
      const change = changeOf(monitor, result)
      changes.set(result, change)
      return [{ claim: result.claim, set: placeOfSettled(result, change, now) }]
    })
    const held = new Set(await writeBack(transaction, 'due_checks', items))
    const kept = [...changes].filter(([{ claim }]) => held.has(claim)).map(([, change]) => change)
    return await recordChanges(transaction, kept, now)
  })
}

async function recordChanges(db: Database, changes: readonly Change[], now: number): Promise<number> {
  const events = changes.flatMap(({ event }) => (event ? [event] : []))
  for (const { monitor, verdict, event, diagnosis } of changes) {
    const isFirst = monitor.state === 'UNSET'
    const changed = event && {
      state: verdict.state,
      current_values: verdict.values === undefined ? monitor.current_values : JSON.stringify(verdict.values),
      incidence_count: monitor.incidence_count + (isFirst ? 0 : 1),
    }
    await db
      .updateTable('monitors')
      .set({ ...changed, diagnosis })
      .where('organization_id', '=', monitor.organization_id)
      .where('id', '=', monitor.id)
      .execute()
  }
  await insertEvents(db, events)
  const notify = new Map(changes.map(({ monitor }) => [monitor.id, monitor.notify as Notify]))
  const reported = events.filter((event) =>
    isNotified(notify.get(event.monitor_id)!, event.old_state as MonitorState, event.new_state as MonitorState),
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

/** One rule: an outcome that differs from what is recorded, in state or in values, makes exactly one event. */
function changeOf(monitor: MonitorRow, { claim, at, evidence, witnesses, decided, ...settled }: Settled): Change {
  const expectation = {
    recordType: monitor.record_type as MonitorRecordType,
    expectedValues: JSON.parse(monitor.expected_values),
    isExactMatch: monitor.is_exact_match === 1,
    owner: monitor.owner,
  }
  const recorded: string[] | null = monitor.current_values === null ? null : JSON.parse(monitor.current_values)
  const outcome = withRecorded(settled.outcome, recorded)
  const verdict = judge(expectation, outcome, witnesses)
  const diagnosis = diagnosisText(verdict.reason, decided, evidence)
  const values = verdict.values === undefined ? null : JSON.stringify(verdict.values)
  const isSameState = verdict.state === monitor.state
  if (isSameState && (values === null || values === monitor.current_values))
    return { monitor, outcome, verdict, diagnosis }
  const event: EventRow = {
    id: newId('evt', at),
    organization_id: monitor.organization_id,
    monitor_id: monitor.id,
    group_id: monitor.group_id,
    occurred_at: at,
    old_state: monitor.state,
    new_state: verdict.state,
    previous_values: monitor.state === 'UNSET' ? null : monitor.current_values,
    current_values: values,
    incidence_count: isSameState ? claim.streak + 1 : 1,
    domain: monitor.domain,
    subdomain: monitor.subdomain,
    record_type: monitor.record_type,
    expected_values: monitor.expected_values,
    is_exact_match: monitor.is_exact_match,
    diagnosis,
  }
  return { monitor, outcome, verdict, event, diagnosis }
}

type Place = WriteBack<'due_checks'>['set']

function placeOfUnsettled(result: CheckResult, now: number): Place {
  const { kind, claim, at } = result
  const { fingerprint, streak, doubts } = claim
  const regular = { due_at: nextDueAt(now, claim), last_checked_at: at, fingerprint }
  if (kind === 'withheld' || kind === 'postponed') {
    // Nothing was learned, so nothing moves on; it is asked again as soon as our own network, or the server's turn, may be back.
    const afterMs = kind === 'withheld' ? WITHHELD_DELAY_MS : result.afterMs
    const due_at = Math.min(Math.ceil(now + afterMs), regular.due_at)
    return { ...regular, due_at, last_checked_at: claim.last_checked_at, streak, doubts }
  }
  // What is recorded, heard once more, is one doubt less: servers that take turns are doubted every second time.
  if (kind !== 'doubtful') return { ...regular, streak: streak + 1, doubts: Math.max(0, doubts - 1) }
  const soon = now + DOUBT_DELAYS_MS[Math.min(doubts, DOUBT_DELAYS_MS.length - 1)]!
  return { ...regular, due_at: Math.min(soon, regular.due_at), streak, doubts: doubts + 1 }
}

function placeOfSettled({ claim, at }: Settled, { monitor, verdict, outcome }: Change, now: number): Place {
  const streak = verdict.state === monitor.state ? claim.streak + 1 : 1
  return {
    due_at: nextDueAt(now, claim),
    last_checked_at: at,
    fingerprint: writtenFingerprint(outcome),
    streak,
    doubts: 0,
  }
}

/** The wide rows of settled checks, locked until the transaction ends: only these are touched at all. */
async function lockMonitors(db: Database, results: readonly CheckResult[]): Promise<Map<string, MonitorRow>> {
  const ids = results.flatMap(({ kind, claim }) => (kind === 'settled' ? [claim.monitor_id] : []))
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('monitors')
    .selectAll()
    .where('id', 'in', ids)
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}
