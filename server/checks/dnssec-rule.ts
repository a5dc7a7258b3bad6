import {
  type Exchange,
  isDnssecFailure,
  isUnreachableFailure,
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
import { canValidate, isBogusAbove, isValidated, validateServers } from './validity-rule.ts'

/** How many resolvers are asked whether a recorded failure has ended, and how often: several caches may answer behind one address. */
const MAX_RESOLVERS = 4
const OPINION_ROUNDS = 3
/** The longest CNAME chain whose zones are looked at. */
const MAX_TARGETS = 4

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
  const hasBogus = check.zone.bogus.length > 0
  const isDoubtful = hasBogus || recorded.state === 'INVALID' || findServfail(reply.evidence) !== undefined
  if (isDoubtful && canValidate(check)) {
    const [pending] = check.zone.pendingQueries
    if (pending) return sendQueries(...check.zone.pendingQueries)
    const step = validateServers(check)
    if (step) return step
    const validated = isValidated(check)
    if (validated) return validated === true ? undefined : validated
  }
  const opinions = repliesByPurpose(check, 'other_resolver')
  const failed = [reply, ...opinions].flatMap(({ evidence }) => findServfail(evidence) ?? [])[0]
  const mayHaveEnded = recorded.state === 'INVALID' && isUsable(reply.outcome)
  if (!failed && mayHaveEnded) {
    const resolvers = check.capabilities.resolvers.slice(0, MAX_RESOLVERS)
    if (opinions.length < resolvers.length * OPINION_ROUNDS)
      return sendQueries(...resolvers.map((server) => ({ purpose: 'other_resolver' as const, servers: [server] })))
    const step = waitIfSigned(check, reply)
    if (step) return step
  }
  const outcome = failed?.outcome
  if (outcome?.kind !== 'failure') return undefined
  const bogus: Outcome = { ...outcome, bogus: true }
  if (isBogusAbove(check)) return verdict(check, bogus, CONFIRMATIONS.validationFailsAbove)
  // Always the same resolver: another one may have the records in its cache.
  const servers = resolverOf(check, { evidence: [failed!] })
  const unvalidated = repliesByPurpose(check, 'checking_disabled')[0]
  if (!unvalidated) return sendQueries({ purpose: 'checking_disabled', servers })
  const isKnown = isRecorded(recorded, bogus)
  if (isFailure(unvalidated.outcome)) return isKnown ? waitIfSigned(check, reply) : undefined
  const retried = repliesByPurpose(check, 'retry')[0]
  if (!retried && !isKnown)
    return sendQueries({ purpose: 'retry', servers, notBefore: observations.at(-1)!.elapsed + RETRY_PAUSE_MS })
  if (retried && !isServfail(retried.outcome)) return undefined
  const isNamed = isDnssecFailure(retried ?? { outcome, evidence: [failed!] })
  const signed = findSigned(check, unvalidated)
  if (signed === 'no') {
    const above = isNamed ? failsAbove(check, servers) : 'no'
    if (above !== 'yes') return above === 'no' ? undefined : above
  } else if (signed !== 'yes' && signed) return signed
  const contradiction = contradictedBy(check, servers, [reply, ...opinions])
  if (contradiction) return contradiction === 'yes' ? undefined : contradiction
  // Resolvers cache DS records for a day, so some still validate what others refuse. A recorded failure ends when none refuses it.
  if (isKnown) return verdict(check, bogus, CONFIRMATIONS.validationFails)
  const isUncontradicted = ![reply, ...opinions].some((each) => isUsable(each.outcome))
  const mayConclude = isUncontradicted && (recorded.fingerprint === null || isMajorityDue(check))
  if (isNamed || mayConclude) return verdict(check, bogus, CONFIRMATIONS.validationFails)
  // Resolvers cache SERVFAIL for up to a minute, but not for a type that was not queried. RFC 9520.
  const other = repliesByPurpose(check, 'other_type')[0]
  if (!other) return sendQueries({ purpose: 'other_type', servers })
  // Lost packets between the resolver and the zone also end with records when validation is disabled.
  const isOutage = isUnreachableFailure(retried ?? { evidence: [failed!] }) && !isMajorityDue(check)
  return isServfail(other.outcome) && !isOutage
    ? verdict(check, bogus, CONFIRMATIONS.validationFails)
    : inconclusive(check, CONFIRMATIONS.validationUnconfirmed)
}

/** What seemed to fail validation may still do so: the check is repeated. Undefined if the zone is not signed, or after the last repetition. */
function waitIfSigned(check: Check, reply: Reply): Step | undefined {
  const signed = isMajorityDue(check) ? 'no' : findSigned(check, reply)
  if (signed === 'yes') return inconclusive(check, CONFIRMATIONS.validationUnconfirmed)
  return signed === 'no' ? undefined : signed
}

/**
 * Whether the parent zone has DS records for the zone now. Without them no validator refuses its answers. RFC 4035 section 5.2. Another
 * cache behind the address of the resolver may have answered with validation disabled. Undefined if that is not known.
 */
function findSigned(check: Check, { outcome }: Reply): Step | 'yes' | 'no' | undefined {
  const { zone } = check
  const targets = 'chain' in outcome ? outcome.chain.map(({ target }) => target) : []
  if (targets.length > MAX_TARGETS || check.recorded.hasOwnView) return undefined
  const [first] = zone.pendingQueries
  if (!zone.view) return first && sendQueries(first)
  if (zone.view.isUnknown || zone.view.isDenied) return undefined
  const unknown = targets.filter((name) => !findNsReply(check, 'zone_ns', name))
  if (unknown.length > 0) return sendQueries(...unknown.map((name) => ({ purpose: 'zone_ns' as const, name })))
  const zones = new Set([zone.view.zone, ...targets.map((name) => findNsReply(check, 'zone_ns', name)!.zone)])
  if (zones.has('')) return undefined
  const missing = [...zones].filter((name) => !findNsReply(check, 'zone_ds', name))
  if (missing.length > 0) return sendQueries(...missing.map((name) => ({ purpose: 'zone_ds' as const, name })))
  const answers = [...zones].map((name) => findNsReply(check, 'zone_ds', name)!.outcome.kind)
  if (answers.includes('answer')) return 'yes'
  return answers.every((kind) => kind === 'nodata') ? 'no' : undefined
}

/** Whether the resolver refuses the parent zone too, so that nothing below it can be validated, signed or not. */
function failsAbove(check: Check, servers: readonly ServerAddress[]): Step | 'yes' | 'no' {
  const { zone } = check.zone.view!
  const name = zone.slice(zone.indexOf('.') + 1)
  if (!zone.includes('.')) return 'no'
  const parent = check.observations.find(({ query }) => query.purpose === 'resolver_ns' && query.name === name)
  if (!parent || !('reply' in parent)) return sendQueries({ purpose: 'resolver_ns', name, servers, attempts: 2 })
  return isServfail(parent.reply.outcome) ? 'yes' : 'no'
}

function findNsReply({ observations }: Check, purpose: 'zone_ns' | 'zone_ds', name: string) {
  for (const observation of observations) {
    const { query } = observation
    if (query.purpose === purpose && query.name === name && 'nsReply' in observation) return observation.nsReply
  }
}

/** Whether another resolver answered after the first one failed: the failure may be the fact. */
export function hidesServfail({ outcome, evidence }: Reply): boolean {
  return isUsable(outcome) && findServfail(evidence) !== undefined
}

function findServfail(evidence: readonly Exchange[]): Exchange | undefined {
  return evidence.find(({ outcome }) => outcome && isServfail(outcome))
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
  const isSilent = probes.some(
    ({ outcome, evidence }) => outcome.kind === 'timeout' && failingServers.has(serverOf({ evidence })),
  )
  if (isSilent && !isMajorityDue(check)) return inconclusive(check, CONFIRMATIONS.validationUnconfirmed)
  const isHealthy = [...failingServers].every((server) => validating.has(server))
  if (!isHealthy) return 'yes'
  const isRecordedFailure = check.recorded.state === 'INVALID'
  return !isRecordedFailure && answering.some((reply) => validating.has(serverOf(reply))) ? 'yes' : undefined
}

function isAuthenticated({ outcome, evidence }: Reply): boolean {
  return outcome.kind === 'answer' && (evidence.at(-1)?.flags.includes('ad') ?? false)
}

function isRecorded({ fingerprint: known }: Recorded, outcome: Outcome): boolean {
  return fingerprint(outcome) === known
}
