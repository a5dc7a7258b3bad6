import { isOfDnssec } from '../dns/extended-errors.ts'
import type { Outcome, Reply } from '../dns/outcome.ts'
import { findBogus } from './bogus.ts'
import { askAgain, confirmByRecursion } from './confirm-by-recursion.ts'
import { confirmByZone } from './confirm-by-zone.ts'
import {
  addEvidence,
  type CheckDoors,
  type Confirmation,
  doubtful,
  type Hearing,
  MOST_DOUBTS,
  type Suspicion,
  settled,
  withheld,
} from './hearing.ts'
import { fingerprint } from './judge.ts'
import { isFailure, isServfail } from './replies.ts'
import { isAnswer } from './sampling.ts'
import { WORDS } from './wording.ts'

/**
 * Confirms what differs from the record on an independent path: the zone's own name servers, found by following the
 * delegation, else other recursive servers. A failure takes two paths and a pause. Nothing is told that our own network may
 * have made up.
 */
export async function confirm(suspicion: Suspicion, doors: CheckDoors, signal: AbortSignal): Promise<Confirmation> {
  const { first } = suspicion
  const hearing: Hearing = { suspicion, doors, signal, evidence: [...first.evidence], aside: undefined }
  const before: Reply[] = []
  if (isFailure(first.outcome)) {
    if (!(await isTrusted(hearing, first.outcome))) return withheld(hearing)
    const bogus = await confirmBogus(hearing, before)
    if (bogus) return bogus
  }
  const { confirmation: byZone, failure } = await confirmByZone(hearing)
  const confirmation = byZone ?? (await confirmByRecursion(hearing, before, failure))
  if (confirmation.kind !== 'settled' || fingerprint(confirmation.outcome) === suspicion.recorded) return confirmation
  return (await isTrusted(hearing, confirmation.outcome, byZone)) ? confirmation : withheld(hearing)
}

/** Whether such an outcome can be believed on our own network, as the canaries find it. `byZone`: told by the zone's servers. */
async function isTrusted({ doors }: Hearing, outcome: Outcome, byZone?: Confirmation): Promise<boolean> {
  const network = (await doors.canaries?.network()) ?? 'well'
  if (network === 'gone') return byZone !== undefined || isAnswer(outcome)
  return network === 'well'
}

/** Data that does not validate is no good answer, wherever it is asked for; a passing SERVFAIL has passed after a pause. */
async function confirmBogus(hearing: Hearing, before: Reply[]): Promise<Confirmation | undefined> {
  const { suspicion, doors, signal } = hearing
  const bogus = await findBogus(suspicion.first, suspicion.ask, doors, signal)
  if (!bogus) return undefined
  addEvidence(hearing, bogus.reply.evidence)
  const again = await askAgain(hearing, doors.dns.servers, [suspicion.first])
  before.push(again)
  if (!isServfail(again.outcome)) return undefined
  const isProven = isOfDnssec(again) || suspicion.recorded === null || suspicion.doubts >= MOST_DOUBTS
  return isProven || (await failsAfresh(hearing)) ? settled(hearing, bogus.outcome, WORDS.bogus) : doubtful(hearing)
}

/** Many recursive servers remember SERVFAIL for seconds or a minute, but not for a type that was not asked for. RFC 9520. */
async function failsAfresh({ suspicion, doors, signal, evidence }: Hearing): Promise<boolean> {
  const other = await doors.dns.ask({ name: suspicion.owner, type: 'SOA' }, { signal })
  evidence.push(...other.evidence)
  return isServfail(other.outcome)
}
