import type { Outcome, Reply } from '../dns/outcome.ts'
import { isDnssecFailure, isStale } from '../dns/outcome.ts'
import {
  applyRules,
  type Check,
  type CheckSoFar,
  firstReply,
  inconclusive,
  isMajorityDue,
  RETRY_PAUSE_MS,
  type Recorded,
  type Rule,
  repliesByPurpose,
  requireNetwork,
  resolverOf,
  type Step,
  sendQueries,
  verdict,
} from './check-state.ts'
import { fingerprint } from './fingerprint.ts'
import { isAnswer, isFailure, isServfail } from './outcomes.ts'
import { CONFIRMATIONS } from './reasons.ts'
import { decideByResolvers } from './resolver-rules.ts'
import { compareViews, doesZoneDecide } from './split-horizon.ts'
import { decideByZone, zoneReplies } from './zone-rules.ts'

/**
 * Returns the next queries or the result of a check, from what is recorded, the observations so far and the time. Pure:
 * `run-check.ts` and the simulator send the queries.
 */
export function decide(soFar: CheckSoFar): Step {
  return applyRules(RULES, { ...soFar, zone: zoneReplies(soFar) })
}

/** In the order in which they apply. `resolver-rules.ts`, `sampling.ts` and `rotation-rules.ts` have their own lists. */
export const RULES: readonly Rule<Check>[] = [
  {
    name: 'One query',
    rationale: 'Most checks find the recorded values. One query to a resolver shows that.',
    apply: (check) => (firstReply(check) ? undefined : sendQueries({ purpose: 'first' })),
  },
  {
    name: 'As recorded',
    rationale:
      'Recorded values need no confirmation, unless the answer is stale, the RRset rotates, or the previous check was inconclusive.',
    apply: (check) => (isAsRecorded(check.recorded, firstReply(check)!) ? { kind: 'unchanged' } : undefined),
  },
  {
    name: 'Own network',
    rationale:
      'While the canary names also fail, or all names resolve to one address, an answer says nothing about the monitored name.',
    apply: (check) => requireNetwork(check, 'first', !isFailure(firstReply(check)!.outcome)),
  },
  {
    name: 'DNSSEC',
    rationale: "Records that arrive only with validation disabled are bogus. The zone's servers cannot overrule that.",
    apply: checkDnssec,
  },
  {
    name: "Zone's name servers",
    rationale: 'Authoritative servers overrule caches, and several of them together overrule a bad one.',
    apply: ({ zone }) => (zone.pendingQueries.length > 0 ? sendQueries(...zone.pendingQueries) : undefined),
  },
  {
    name: 'Split horizon',
    rationale: 'If the resolvers see another zone than the public one, Zonewatch monitors theirs.',
    apply: (check) => (check.zone.usable.length > 0 ? compareViews(check) : undefined),
  },
  {
    name: 'Zone decides',
    rationale: 'The values that its servers agree on, over enough answers to reveal a rotation, are correct.',
    apply: (check) => (doesZoneDecide(check) ? decideByZone(check) : undefined),
  },
  {
    name: 'Resolvers decide',
    rationale: "If the zone's servers cannot be queried, two independent resolver answers must agree.",
    apply: decideByResolvers,
  },
]

type RecordedOutcome = Pick<Recorded, 'fingerprint' | 'isRotating' | 'inconclusiveCount'>

/** Whether one resolver answer ends the check. */
export function isAsRecorded(recorded: RecordedOutcome, reply: Reply): boolean {
  const isCertain = !recorded.isRotating && recorded.inconclusiveCount === 0
  return isCertain && fingerprint(reply.outcome) === recorded.fingerprint && !isStale(reply)
}

/**
 * After SERVFAIL the same resolver is queried with validation disabled, and once more after a pause, because SERVFAIL may be
 * temporary. RFC 4035 section 5.5, RFC 6840 section 5.9.
 */
function checkDnssec(check: Check): Step | undefined {
  const { recorded, observations } = check
  const reply = firstReply(check)!
  // The reply may be a denial by a resolver that was queried after the SERVFAIL.
  const failed = isAnswer(reply.outcome)
    ? undefined
    : reply.evidence.find(({ outcome }) => outcome && isServfail(outcome))
  const outcome = failed?.outcome
  if (outcome?.kind !== 'failure') return undefined
  // Always the same resolver: another one may have the records in its cache.
  const servers = resolverOf(check, { evidence: [failed!] })
  const unvalidated = repliesByPurpose(check, 'checking_disabled')[0]
  if (!unvalidated) return sendQueries({ purpose: 'checking_disabled', servers })
  if (isFailure(unvalidated.outcome)) return undefined
  const retried = repliesByPurpose(check, 'retry')[0]
  if (!retried)
    return sendQueries({ purpose: 'retry', servers, notBefore: observations.at(-1)!.elapsed + RETRY_PAUSE_MS })
  if (!isServfail(retried.outcome)) return undefined
  const bogus: Outcome = { ...outcome, bogus: true }
  if (isDnssecFailure(retried) || recorded.fingerprint === null || isMajorityDue(check))
    return verdict(check, bogus, CONFIRMATIONS.validationFails)
  // Resolvers cache SERVFAIL for up to a minute, but not for a type that was not queried. RFC 9520.
  const other = repliesByPurpose(check, 'other_type')[0]
  if (!other) return sendQueries({ purpose: 'other_type' })
  return isServfail(other.outcome)
    ? verdict(check, bogus, CONFIRMATIONS.validationFails)
    : inconclusive(check, CONFIRMATIONS.validationUnconfirmed)
}
