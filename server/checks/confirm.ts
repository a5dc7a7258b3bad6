import type { Outcome, Reply } from '../dns/outcome.ts'
import { findBogus } from './bogus.ts'
import { askAgain, confirmByRecursion } from './confirm-by-recursion.ts'
import { confirmByZone } from './confirm-by-zone.ts'
import { addEvidence, type CheckDoors, type Confirmation, type Hearing, type Suspicion, settled } from './hearing.ts'
import { isFailure } from './replies.ts'
import { WORDS } from './wording.ts'

/**
 * Confirms what differs from the record on an independent path: the zone's own name servers, found by following the
 * delegation, else other recursive servers. A failure takes two paths and a pause, and canaries that are well.
 */
export async function confirm(suspicion: Suspicion, doors: CheckDoors, signal: AbortSignal): Promise<Confirmation> {
  const { first } = suspicion
  const hearing: Hearing = { suspicion, doors, signal, evidence: [...first.evidence], aside: undefined }
  const before: Reply[] = []
  if (isFailure(first.outcome)) {
    const isOurs = doors.canaries !== undefined && !(await doors.canaries.areWell())
    if (isOurs) return { kind: 'withheld', evidence: hearing.evidence }
    const bogus = await confirmBogus(hearing, before)
    if (bogus) return settled(hearing, bogus, WORDS.bogus)
  }
  const { confirmation, failure } = await confirmByZone(hearing)
  return confirmation ?? (await confirmByRecursion(hearing, before, failure))
}

/** Data that does not validate is no good answer, wherever it is asked for; a passing SERVFAIL has passed after a pause. */
async function confirmBogus(hearing: Hearing, before: Reply[]): Promise<Outcome | undefined> {
  const { suspicion, doors, signal } = hearing
  const bogus = await findBogus(suspicion.first, suspicion.ask, doors, signal)
  if (!bogus) return undefined
  addEvidence(hearing, bogus.reply.evidence)
  const again = await askAgain(hearing, doors.dns.servers, [suspicion.first])
  before.push(again)
  return again.outcome.kind === 'failure' && again.outcome.rcode === 'SERVFAIL' ? bogus.outcome : undefined
}
