import type { Reply } from '../dns/outcome.ts'
import { isStale } from '../dns/outcome.ts'
import {
  applyRules,
  type Check,
  type CheckSoFar,
  firstReply,
  type Recorded,
  type Rule,
  requireNetwork,
  type Step,
  sendQueries,
} from './check-state.ts'
import { checkDnssec, hidesServfail } from './dnssec-rule.ts'
import { fingerprint } from './fingerprint.ts'
import { isFailure } from './outcomes.ts'
import { compareFewServers, decideByResolvers } from './resolver-rules.ts'
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
    name: 'DNSSEC',
    rationale:
      "Records that arrive only with validation disabled are bogus. The zone's servers, and resolvers that do not validate, cannot overrule that.",
    apply: checkDnssec,
  },
  {
    name: 'As recorded',
    rationale:
      'Recorded values need no confirmation, unless the answer is stale, the RRset rotates, or the previous check was inconclusive.',
    apply: (check) => (equalsRecorded(check.recorded, firstReply(check)!) ? { kind: 'unchanged' } : undefined),
  },
  {
    name: 'Own network',
    rationale:
      'While the canary names also fail, or all names resolve to one address, an answer says nothing about the monitored name.',
    apply: (check) => requireNetwork(check, 'first', !isFailure(firstReply(check)!.outcome)),
  },
  {
    name: "Zone's name servers",
    rationale: 'The state is what the servers publish that the parent zone delegates to now: all of them, up to 13.',
    apply: ({ zone }) => (zone.pendingQueries.length > 0 ? sendQueries(...zone.pendingQueries) : undefined),
  },
  {
    name: 'Split horizon',
    rationale: 'If all resolvers demonstrably see another zone than the public one, Zonewatch monitors theirs.',
    apply: (check) => (check.zone.usable.length > 0 ? compareViews(check) : undefined),
  },
  {
    name: 'Few name servers',
    rationale:
      'If fewer than half of the delegated servers answer, the resolvers are queried too, and a contradiction waits.',
    apply: compareFewServers,
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

type RecordedOutcome = Pick<Recorded, 'fingerprint' | 'isRotating' | 'inconclusiveCount' | 'isSuspected'>

/** Whether one resolver answer ends the check. If another resolver answered SERVFAIL before, the DNSSEC rule decides first. */
export function isAsRecorded(recorded: RecordedOutcome, reply: Reply): boolean {
  return !hidesServfail(reply) && equalsRecorded(recorded, reply)
}

function equalsRecorded(recorded: RecordedOutcome, reply: Reply): boolean {
  const isCertain = !recorded.isRotating && recorded.inconclusiveCount === 0 && recorded.isSuspected !== true
  return isCertain && fingerprint(reply.outcome) === recorded.fingerprint && !isStale(reply)
}
