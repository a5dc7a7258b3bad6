import type { MonitorRecordType } from '#contract/monitors.ts'
import type { Clock } from '../clock.ts'
import type { Claim } from '../database/due.ts'
import type { DnsClient } from '../dns/client.ts'
import type { Evidence, Outcome } from '../dns/outcome.ts'
import { confirm } from './confirm.ts'
import { fingerprint } from './judge.ts'
import { lookupFor } from './lookup.ts'

/** What one check came to. `at`: when it ended. */
export type CheckResult = { claim: Claim<'due_checks'>; at: number } & Finding

export type Finding =
  /** What is recorded already. */
  | { kind: 'unchanged' }
  /** Something else, on paths that disagree: ask again soon. */
  | { kind: 'doubtful'; evidence: Evidence[] }
  /** Something else, confirmed. */
  | { kind: 'settled'; outcome: Outcome; evidence: Evidence[] }

/** One pass over one claimed monitor. Rejects only when the DNS client is closed, or `signal` aborted in a confirmation. */
export async function runCheck(
  claim: Claim<'due_checks'>,
  doors: { dns: DnsClient; clock: Clock },
  signal: AbortSignal,
): Promise<CheckResult> {
  const ask = lookupFor({
    owner: claim.owner,
    recordType: claim.record_type as MonitorRecordType,
    isExactMatch: claim.is_exact_match === 1,
  })
  const first = await ask(doors.dns, {})
  const { fingerprint: recorded, doubts } = claim
  const finding: Finding =
    fingerprint(first.outcome) === recorded
      ? { kind: 'unchanged' }
      : await confirm({ ask, first, recorded, doubts }, doors, signal)
  return { claim, at: doors.clock.now(), ...finding }
}
