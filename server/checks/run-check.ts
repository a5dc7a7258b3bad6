import type { MonitorRecordType } from '#contract/monitors.ts'
import type { Claim } from '../database/due.ts'
import { Busy } from '../dns/busy.ts'
import { isStale } from '../dns/extended-errors.ts'
import { confirm } from './confirm.ts'
import type { CheckDoors, Confirmation } from './hearing.ts'
import { fingerprint, readFingerprint } from './judge.ts'
import { lookupFor } from './lookup.ts'
import { isGood } from './replies.ts'

/** Less than what is begun may wait for its further questions: it must come to an end while its lease lasts. */
const FIRST = { mostWaitMs: 5_000 }

/** What one check came to. `at`: when it ended. */
export type CheckResult = { claim: Claim<'due_checks'>; at: number } & Finding

export type Finding =
  /** What is recorded already. */
  | { kind: 'unchanged' }
  /** Nothing: so much is asked of a recursive server that there would have been no turn in time. */
  | { kind: 'postponed'; afterMs: number }
  /** Something else. */
  | Confirmation

/** One pass over one claimed monitor. Rejects only when the DNS client is closed, or `signal` aborted in a confirmation. */
export async function runCheck(
  claim: Claim<'due_checks'>,
  doors: CheckDoors,
  signal: AbortSignal,
): Promise<CheckResult> {
  const ask = lookupFor({
    owner: claim.owner,
    recordType: claim.record_type as MonitorRecordType,
    isExactMatch: claim.is_exact_match === 1,
  })
  try {
    const first = await ask(doors.dns, FIRST)
    if (isGood(first.outcome)) doors.canaries?.noteAnswer()
    const { owner, doubts } = claim
    const { recorded, isPool } = readFingerprint(claim.fingerprint)
    // What is recorded, out of a cache that could not ask anew, is no news of the zone.
    if (fingerprint(first.outcome) === recorded && !isStale(first)) {
      return { claim, at: doors.clock.now(), kind: 'unchanged' }
    }
    const suspicion = { ask, owner, first, recorded, isPool, doubts }
    const confirmation = await confirm(suspicion, doors, signal)
    return { claim, at: doors.clock.now(), ...confirmation }
  } catch (error) {
    return { claim, at: doors.clock.now(), ...postponed(error) }
  }
}

function postponed(error: unknown): Finding {
  if (error instanceof Busy) return { kind: 'postponed', afterMs: error.retryInMs }
  throw error
}
