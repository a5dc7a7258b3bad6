import {
  type Exchange,
  isDnssecFailure,
  isUsable,
  type Outcome,
  type Reply,
  type ServerAddress,
} from '../dns/outcome.ts'
import { formatServer } from '../dns/server-address.ts'
import {
  type Check,
  firstReply,
  inconclusive,
  isMajorityDue,
  RETRY_PAUSE_MS,
  type Recorded,
  repliesByPurpose,
  resolverOf,
  type Step,
  sendQueries,
  verdict,
} from './check-state.ts'
import { fingerprint } from './fingerprint.ts'
import { isFailure, isServfail, serverOf } from './outcomes.ts'
import { CONFIRMATIONS } from './reasons.ts'

/** Resolvers beside the first one that are queried because it cannot validate. */
const MAX_OTHERS = 3

/**
 * After SERVFAIL the same resolver is queried with validation disabled, and once more after a pause, because SERVFAIL may be
 * temporary. RFC 4035 section 5.5, RFC 6840 section 5.9. The answer of another resolver overrules it only if that one validates too.
 */
export function checkDnssec(check: Check): Step | undefined {
  const { recorded, observations } = check
  const reply = firstReply(check)!
  // Where the recorded failure does not end the check, the zone's servers must not overrule it: they do not validate.
  const isEnd = recorded.inconclusiveCount === 0 && !recorded.isSuspected
  if (isEnd && isFailure(reply.outcome) && isRecorded(recorded, reply.outcome)) return undefined
  const others = mayHideFailure(check, reply) ? otherResolvers(check, reply) : []
  const opinions = repliesByPurpose(check, 'other_resolver')
  if (others.length > opinions.length)
    return sendQueries(...others.map((server) => ({ purpose: 'other_resolver' as const, servers: [server] })))
  const failed = [reply, ...opinions].flatMap(({ evidence }) => findServfail(evidence) ?? [])[0]
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
  const contradiction = contradictedBy(check, servers, [reply, ...opinions])
  if (contradiction) return contradiction === 'yes' ? undefined : contradiction
  const bogus: Outcome = { ...outcome, bogus: true }
  const isUncontradicted = ![reply, ...opinions].some((each) => isUsable(each.outcome))
  const mayConclude = isUncontradicted && (recorded.fingerprint === null || isMajorityDue(check))
  if (isDnssecFailure(retried) || mayConclude) return verdict(check, bogus, CONFIRMATIONS.validationFails)
  // Resolvers cache SERVFAIL for up to a minute, but not for a type that was not queried. RFC 9520.
  const other = repliesByPurpose(check, 'other_type')[0]
  if (!other) return sendQueries({ purpose: 'other_type', servers })
  return isServfail(other.outcome)
    ? verdict(check, bogus, CONFIRMATIONS.validationFails)
    : inconclusive(check, CONFIRMATIONS.validationUnconfirmed)
}

/** Whether another resolver answered after the first one failed: the failure may be the fact. */
export function hidesServfail({ outcome, evidence }: Reply): boolean {
  return isUsable(outcome) && findServfail(evidence) !== undefined
}

function findServfail(evidence: readonly Exchange[]): Exchange | undefined {
  return evidence.find(({ outcome }) => outcome && isServfail(outcome))
}

/** Whether a failure is recorded, and a resolver that may not validate answers. */
function mayHideFailure({ recorded }: Check, { outcome, evidence }: Reply): boolean {
  return recorded.state === 'INVALID' && isUsable(outcome) && findServfail(evidence) === undefined
}

function otherResolvers({ capabilities }: Check, reply: Reply): ServerAddress[] {
  const server = serverOf(reply)
  return capabilities.resolvers.filter((resolver) => formatServer(resolver) !== server).slice(0, MAX_OTHERS)
}

/**
 * Whether a resolver that validates returns records although `failing` does not, or `failing` cannot validate anything. Whether a
 * resolver validates, its answer for the signed root zone shows: the AD bit. RFC 4035 section 3.2.3.
 */
function contradictedBy(
  check: Check,
  failing: readonly ServerAddress[],
  replies: readonly Reply[],
): Step | 'yes' | undefined {
  const failingServers = new Set(failing.map(formatServer))
  const answering = replies.filter((reply) => isUsable(reply.outcome) && !failingServers.has(serverOf(reply)))
  if (answering.length === 0) return undefined
  const addresses = [...failingServers, ...answering.map(serverOf)]
  const probes = repliesByPurpose(check, 'validation_probe')
  if (probes.length === 0) {
    const queried = check.capabilities.resolvers.filter((resolver) => addresses.includes(formatServer(resolver)))
    return sendQueries(...queried.map((server) => ({ purpose: 'validation_probe' as const, servers: [server] })))
  }
  const validating = new Set(probes.filter(isAuthenticated).map(serverOf))
  const isHealthy = [...failingServers].every((server) => validating.has(server))
  return !isHealthy || answering.some((reply) => validating.has(serverOf(reply))) ? 'yes' : undefined
}

function isAuthenticated({ outcome, evidence }: Reply): boolean {
  return outcome.kind === 'answer' && (evidence.at(-1)?.flags.includes('ad') ?? false)
}

function isRecorded({ fingerprint: known }: Recorded, outcome: Outcome): boolean {
  return fingerprint(outcome) === known
}
