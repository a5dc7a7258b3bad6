import type { MonitorRecordType } from '#contract/monitors.ts'
import type { Claim } from '../database/due.ts'
import { confirm } from './confirm.ts'
import type { CheckDoors, Confirmation } from './hearing.ts'
import { fingerprint } from './judge.ts'
import { aliasesFrom, lookupFor } from './lookup.ts'
import { isGood } from './replies.ts'

/** What one check came to. `at`: when it ended. */
export type CheckResult = { claim: Claim<'due_checks'>; at: number } & Finding

export type Finding =
  /** What is recorded already. */
  | { kind: 'unchanged' }
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
  const first = await ask(doors.dns, {})
  if (isGood(first.outcome)) doors.canaries?.noteAnswer()
  const { fingerprint: recorded, doubts } = claim
  const finding: Finding =
    fingerprint(first.outcome) === recorded
      ? { kind: 'unchanged' }
      : await confirm({ ask, aliases: aliasesFrom(claim.owner), first, recorded, doubts }, doors, signal)
  return { claim, at: doors.clock.now(), ...finding }
}
