import type { Selectable } from 'kysely'
import type { VerdictReason } from '#contract/reasons.ts'
import type { MonitorsTable } from '../database/schema.ts'
import { isUsable } from '../dns/outcome.ts'
import { type NewEventRow, newEvent } from '../events/new-event.ts'
import { type Gap, gapBeforeCheck } from '../monitors/check-gaps.ts'
import { readDiagnosis } from '../monitors/diagnosis.ts'
import { nextRound } from '../monitors/rounds.ts'
import { nextDueAt } from '../monitors/slots.ts'
import {
  changeOutcome,
  nextCheckAt,
  nextProgress,
  type OpenChange,
  type Progress,
} from '../planned-changes/planned-change.ts'
import type { Claim, Rescheduled } from '../queue/lease-queue.ts'
import { isBeforeWaitEnds } from './check-state.ts'
import { delegationOf, evidenceOf, newDiagnosis, pendingDiagnosis, shortenReason, withLatest } from './evidence.ts'
import { storedFingerprint } from './fingerprint.ts'
import type { CheckResult } from './run-check.ts'
import { meetsValues } from './server-answers.ts'
import { conclude, evaluate } from './verdict.ts'

export type MonitorRow = Selectable<MonitorsTable>
export type MonitorCheckResult = CheckResult<MonitorRow>

/** What a check writes, decided before the transaction begins. `columns`: what changes of the monitor. */
export type CheckWrite = {
  result: MonitorCheckResult
  schedule: ScheduleUpdate
  columns?: Columns
  event?: NewEventRow
  planned?: PlannedWrite
  /** If the check ends one. */
  gap?: Gap | undefined
}
type ScheduleUpdate = Rescheduled<'due_checks', Claim<'due_checks'>>['set']
type Columns = Partial<
  Pick<MonitorRow, 'state' | 'current_values' | 'incidence_count' | 'diagnosis' | 'rotation' | 'expected_values'>
>
/** `end`: present if the change ends. Then its new values become the expected values. */
export type PlannedWrite = { change: OpenChange; progress: Progress | null; end: ReturnType<typeof changeOutcome> }

/** Pure. */
export const checkWriteOf = (result: MonitorCheckResult, now: number): CheckWrite =>
  addGap(joinRounds(addPlannedChange(writeOf(result, now), now), now))

function writeOf(result: MonitorCheckResult, now: number): CheckWrite {
  const { claim, at } = result
  const { fingerprint, streak, inconclusive_count } = claim
  const regular = {
    due_at: nextDueAt(now, claim),
    last_checked_at: at,
    postponed_since: null,
    fingerprint,
    streak,
    inconclusive_count,
    since_round: null,
    joined_at: null,
  }
  const soon = (afterMs: number) => Math.min(Math.ceil(now + afterMs), regular.due_at)
  switch (result.kind) {
    case 'unchanged':
      return { result, schedule: { ...regular, streak: streak + 1 } }
    case 'postponed':
    case 'withheld': {
      // There is no result, so only the next time changes.
      const schedule = { ...regular, due_at: soon(result.afterMs), ...postponed(claim, at) }
      return result.kind === 'withheld' ? { result, schedule, ...firstWithheld(result) } : { result, schedule }
    }
    case 'inconclusive': {
      const counted = inconclusive_count + (isBeforeWaitEnds(claim, at) ? 0 : 1)
      const schedule = { ...regular, due_at: soon(result.afterMs), inconclusive_count: counted }
      return { result, schedule, columns: { ...pendingOf(result, schedule.due_at), rotation: json(result.rotation) } }
    }
    case 'verdict':
      return writeOfVerdict(result, regular)
    case 'deleted':
      return { result, schedule: regular }
  }
}

const postponed = ({ last_checked_at, postponed_since }: MonitorCheckResult['claim'], at: number) => ({
  last_checked_at,
  postponed_since: postponed_since ?? at,
})

function writeOfVerdict(result: Extract<MonitorCheckResult, { kind: 'verdict' }>, regular: ScheduleUpdate): CheckWrite {
  const { claim, at, confirmation, observations, warnings } = result
  const row = result.row!
  const { verdict, recorded, event: stateChange } = conclude(result.recorded!, result)
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
      columns: {
        ...latestOf(result, { reason: verdict.reason, hasOwnView: recorded.hasOwnView }),
        ...(rotation === row.rotation ? {} : { rotation }),
      },
    }
  const diagnosis = JSON.stringify(
    newDiagnosis(
      {
        ...{ reason: verdict.reason, confirmation, at, hasOwnView: recorded.hasOwnView },
        ...{ delegation: delegationOf(observations), ...(warnings && { warnings }) },
      },
      evidenceOf(observations),
    ),
  )
  const columns: Columns = {
    state: stateChange.newState,
    current_values: json(recorded.values),
    incidence_count: row.incidence_count + (stateChange.oldState === 'UNSET' ? 0 : 1),
    diagnosis,
    rotation,
  }
  const event = newEvent(row, {
    at,
    ...stateChange,
    current: stateChange.current ?? null,
    incidenceCount: stateChange.newState === stateChange.oldState ? claim.streak + 1 : 1,
    diagnosis,
  })
  return { result, schedule, columns, event }
}

/** A monitor whose next check is the regular one is checked in rounds from then on. */
function joinRounds(write: CheckWrite, now: number): CheckWrite {
  const { result, schedule } = write
  const isRegular =
    result.claim.planned_change_id === null &&
    schedule.inconclusive_count === 0 &&
    schedule.postponed_since === null &&
    schedule.due_at === nextDueAt(now, result.claim)
  const round = isRegular ? nextRound(now, result.claim) : undefined
  return round === undefined
    ? write
    : { ...write, schedule: { ...schedule, due_at: null, since_round: round, joined_at: now } }
}

/** A postponed or withheld check has no result, so it ends no gap. */
function addGap(write: CheckWrite): CheckWrite {
  const { claim, startedAt, row, kind } = write.result
  if (kind === 'postponed' || kind === 'withheld' || kind === 'deleted') return write
  return { ...write, gap: gapBeforeCheck(claim, startedAt, row?.created_at) }
}

/** Adds the progress of a planned change, its next check and, at its end, the new expected values. */
function addPlannedChange(write: CheckWrite, now: number): CheckWrite {
  const { result, schedule, columns = {}, event } = write
  if (!result.planned) return write
  const { change, seen, outcome } = result.planned
  const dueAt = schedule.due_at === null ? null : nextCheckAt(change, change.progress, now, schedule.due_at)
  if (!seen) return { ...write, schedule: { ...schedule, due_at: dueAt } }
  const progress = nextProgress(change.progress, seen, result.at)
  const isValid = outcome !== undefined && meetsValues(result.recorded!, change.newValues, outcome)
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
  const recorded = result.recorded!
  const { change, outcome } = result.planned!
  const stored = columns.diagnosis ?? result.row!.diagnosis
  if (!outcome || stored == null) return {}
  const expectation = end === 'DONE' ? { ...recorded, expectedValues: change.newValues, change: undefined } : recorded
  const { reason } = evaluate(expectation, outcome)
  const diagnosis = readDiagnosis(stored)
  if (diagnosis.verdict.code === reason.code) return {}
  return { diagnosis: JSON.stringify({ ...diagnosis, verdict: shortenReason(reason) }) }
}

/** What was seen, why that is not yet a verdict, and when the next check comes; also for a monitor without a verdict. */
function pendingOf(result: Extract<MonitorCheckResult, { kind: 'inconclusive' }>, nextAt: number): Columns {
  const { row, confirmation, at, observations, warnings } = result
  if (!row) return {}
  if (row.diagnosis !== null && readDiagnosis(row.diagnosis).verdict.code !== 'not_certain')
    return latestOf(result, { nextAt })
  const delegation = delegationOf(observations)
  const reached = { name: row.owner || '.', confirmation, at, nextAt, delegation, ...(warnings && { warnings }) }
  return { diagnosis: JSON.stringify(pendingDiagnosis(reached, evidenceOf(observations))) }
}

/**
 * Why a monitor that never had a result still has none. Written once, because a withheld check is repeated every few seconds. Other
 * monitors keep their diagnosis.
 */
function firstWithheld(result: Extract<MonitorCheckResult, { kind: 'withheld' }>): Pick<CheckWrite, 'columns'> {
  const { row, confirmation, at, observations } = result
  if (!row || row.diagnosis !== null) return {}
  const reached = { name: row.owner || '.', confirmation, at, nextAt: undefined }
  return { columns: { diagnosis: JSON.stringify(pendingDiagnosis(reached, evidenceOf(observations))) } }
}

/** Adds the evidence of a check without a change to the diagnosis of the last change. */
function latestOf(
  result: Extract<MonitorCheckResult, { kind: 'verdict' | 'inconclusive' }>,
  { reason, nextAt, hasOwnView }: { reason?: VerdictReason; nextAt?: number; hasOwnView?: boolean | undefined },
): Columns {
  const { row, confirmation, at, observations, warnings } = result
  if (!row || row.diagnosis === null) return {}
  const stored = readDiagnosis(row.diagnosis)
  // The planned change of the stored reason may have been deleted.
  const isPlanned = 'new_value' in stored.verdict.params
  const before = reason && isPlanned ? { ...stored, verdict: shortenReason(reason) } : stored
  return {
    diagnosis: JSON.stringify(
      withLatest(
        before,
        {
          ...{ confirmation, at, nextAt, hasOwnView, delegation: delegationOf(observations) },
          ...(warnings && { warnings }),
        },
        evidenceOf(observations),
      ),
    ),
  }
}

function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}
