import type { MonitorState, Resolution } from '#contract/monitors.ts'
import type { ConfirmationReason } from '#contract/reasons.ts'
import type { NetworkState } from '#contract/server.ts'
import type { Validity } from '../dns/dnssec-validator.ts'
import type { Outcome, Reply, ServerAddress } from '../dns/outcome.ts'
import type { AuthoritativeReply } from '../dns/resolver/authoritative-client.ts'
import type { RootProblem } from '../dns/resolver/root-servers.ts'
import type { ZoneView } from '../dns/resolver/zone-view.ts'
import { formatServer } from '../dns/server-address.ts'
import type { MonitoredType } from '../record-types/record-type.ts'
import { fingerprint } from './fingerprint.ts'
import { type Answer, isAnswer, isFailure, serverOf } from './outcomes.ts'
import type { StartedChange } from './planned-change-match.ts'
import { CONFIRMATIONS, type Confirmation } from './reasons.ts'
import type { Rotation } from './rotation.ts'

/** The state of a check. Plain data except for the record type. The rules are in `confirmation-rules.ts`. */
export type CheckSoFar = {
  recorded: Recorded
  /** In the order in which they were received. Only grows. */
  observations: readonly Observation[]
  now: Instant
  capabilities: Capabilities
}

/** The input of a rule. */
export type Check = CheckSoFar & { zone: ZoneReplies }

/** The delegation of the zone, and the replies of its name servers. */
export type ZoneReplies = {
  /** Queries that are still to be sent. */
  pendingQueries: Query[]
  /** Undefined if it is not known. */
  view: ZoneView | undefined
  /** All of the delegated servers, in their order. */
  replies: NameServerReply[]
  usable: NameServerReply[]
  /** Of `replies`: answers that fail DNSSEC validation, and so are not usable. */
  bogus: NameServerReply[]
  /** Why there are no usable replies, as is `unavailableReason`. */
  failure: Outcome | undefined
  unavailableReason: ConfirmationReason | undefined
}

/** What is recorded of a monitor before the check. */
export type Recorded = {
  owner: string
  recordType: MonitoredType
  isExactMatch: boolean
  expectedValues: readonly string[]
  state: MonitorState
  values: readonly string[] | null
  /** Of the recorded outcome; null before the first one. */
  fingerprint: number | null
  isRotating: boolean
  rotation: Rotation | null
  /** How many checks in a row were inconclusive. */
  inconclusiveCount: number
  /** The check must end with a verdict, however little is certain. */
  mustConclude?: boolean
  /** One of the zone's name servers gave another outcome, so that a resolver's copy of the recorded one proves nothing. */
  isSuspected?: boolean
  /** Default: `auto`. */
  resolution?: Resolution
  /** The last verdict was about another zone than the public one. */
  hasOwnView?: boolean
  /** A planned change whose period has begun. */
  change?: StartedChange | undefined
}

export type Capabilities = {
  resolvers: readonly ServerAddress[]
  hasAuthoritativeClient: boolean
  hasNetworkCheck: boolean
  hasValidator: boolean
}

/** `at`: UTC epoch milliseconds. `elapsed`: milliseconds of a monotonic clock, for durations. */
export type Instant = { at: number; elapsed: number }

/**
 * A query to send. All queries of one step are sent at the same time, but not before `notBefore` (elapsed milliseconds).
 * `server`: n for the n-th name server of the zone.
 */
export type Query = { notBefore?: number } & (
  | { purpose: 'first' }
  | { purpose: 'retry'; servers: readonly ServerAddress[] }
  | { purpose: 'resolver_sample'; servers: readonly ServerAddress[] }
  | { purpose: 'checking_disabled'; servers: readonly ServerAddress[] }
  | { purpose: 'other_resolver'; servers: readonly ServerAddress[] }
  | { purpose: 'validation_probe'; servers: readonly ServerAddress[] }
  | { purpose: 'other_type'; servers: readonly ServerAddress[] }
  | { purpose: 'cname_links' }
  | { purpose: 'resolver_ns'; name: string; servers: readonly ServerAddress[]; attempts: number }
  /** A name below `zone` that no cache can have. */
  | { purpose: 'uncached'; zone: string; servers: readonly ServerAddress[] }
  | { purpose: 'delegation' }
  | { purpose: 'name_server'; server: number; fresh: boolean }
  | { purpose: 'name_server_sample'; server: number }
  | { purpose: 'validity'; server: number }
  /** Of what the servers of its own zone answer for the target of a CNAME record. */
  | { purpose: 'target_validity'; name: string }
  | { purpose: 'zone_ns'; name: string }
  | { purpose: 'zone_ds'; name: string }
  | { purpose: 'root_servers'; isAgain?: boolean }
  | { purpose: 'network' }
)

/** The reply of a zone's name server. `owner`: the name of the first question. `server`: the number in the query. */
export type NameServerReply = AuthoritativeReply & { owner: string; server: number }

export type Observation = Instant & { query: Query } & (
    | { reply: Reply }
    | { nameServerReply: NameServerReply }
    | { nsReply: AuthoritativeReply }
    /** Undefined if too many queries are pending. */
    | { view: ZoneView | undefined }
    | { rootProblem: RootProblem | undefined }
    | { network: NetworkState }
    | { validity: Validity }
  )

export type Step =
  | { kind: 'query'; queries: Query[] }
  /** One query returned the recorded outcome. */
  | { kind: 'unchanged' }
  /** `servers`: the names of the zone's name servers that gave the outcome. */
  | { kind: 'verdict'; outcome: Outcome; confirmation: Confirmation; servers: string[]; rotation: Rotation | null }
  /** Nothing is reported. The check is repeated after the delay. */
  | { kind: 'inconclusive'; afterMs: number; rotation: Rotation | null; confirmation: Confirmation }
  /** Zonewatch's own network fails, so the outcome does not count. */
  | { kind: 'withheld'; afterMs: number; confirmation: Confirmation }

const INCONCLUSIVE_DELAYS_MS = [30_000, 60_000, 120_000] as const
const WITHHELD_DELAY_MS = 5_000
/** After this many inconclusive checks in a row the majority decides. */
export const MAX_INCONCLUSIVE = INCONCLUSIVE_DELAYS_MS.length
/** The pause before a query is repeated after a failure, so that a short interruption can end. */
export const RETRY_PAUSE_MS = 3_000

/** `rationale`: one line, as in docs/explanation/checks.md. `apply`: undefined if the rule does not apply. */
export type Rule<Facts> = { name: string; rationale: string; apply(facts: Facts): Step | undefined }

/** The first rule that applies decides. The last one of a list always does. */
export function applyRules<Facts>(rules: readonly Rule<Facts>[], facts: Facts): Step {
  for (const rule of rules) {
    const step = rule.apply(facts)
    if (step) return step
  }
  throw new Error('No rule applies, but the last rule of a list must always apply.')
}

// Servers that are queried repeatedly

/** `replies`: oldest first. `rounds`: how often the server was queried. `next`: the query of the next round. */
export type SampledServer = {
  server: string
  replies: readonly (Reply | NameServerReply)[]
  rounds: number
  next: Query | undefined
}

/** `confirmAgreement`: if all answers are equal. `decideDisagreement`: if each server repeats its own answer. */
export type Sampling = {
  isByZone: boolean
  nameServers(): string[]
  confirmAgreement(): Confirmation
  decideDisagreement(): Step
}

/** The replies of the sampled servers in one check. */
export type Samples = {
  check: Check
  sampling: Sampling
  servers: readonly SampledServer[]
  /** Answers and denials, without failures. */
  outcomes: readonly Outcome[]
  answers: readonly Answer[]
  rounds: number
  /** Queries each server again. Undefined after enough queries, or if the servers stopped answering. */
  nextRound: Step | undefined
  hasDenial: boolean
  areAllEqual(): boolean
  doesAnyServerVary(): boolean
  /** The RRset is recorded as rotating, or earlier inconclusive checks saw other members. */
  isKnownToRotate(): boolean
}

// Functions that the rules share

export function firstReply({ observations }: Pick<Check, 'observations'>): Reply | undefined {
  const observation = observations[0]
  return observation && 'reply' in observation ? observation.reply : undefined
}

/**
 * Undefined if Zonewatch's own network works; otherwise the step to take. The network must have been checked after the first
 * reply (`stage` first), or after the last one (report). `isEvidence`: a network without a connection cannot cause the outcome.
 */
export function requireNetwork(check: Check, stage: 'first' | 'report', isEvidence = false): Step | undefined {
  if (!check.capabilities.hasNetworkCheck) return undefined
  const { observations } = check
  const isReply = (observation: Observation) => 'reply' in observation || 'nameServerReply' in observation
  const since = stage === 'first' ? 0 : observations.findLastIndex(isReply)
  const checked = observations.find((observation, index) => index > since && 'network' in observation)
  if (!checked || !('network' in checked)) return sendQueries({ purpose: 'network' })
  const { network } = checked
  if (network === 'ok' || (network === 'offline' && isEvidence)) return undefined
  return { kind: 'withheld', afterMs: WITHHELD_DELAY_MS, confirmation: CONFIRMATIONS.ownNetworkDown }
}

/** Any records that the check received. */
export function anyAnswer({ observations }: Check): Answer | undefined {
  for (const one of observations) {
    const outcome =
      'reply' in one ? one.reply.outcome : 'nameServerReply' in one ? one.nameServerReply.outcome : undefined
    if (outcome && isAnswer(outcome) && one.query.purpose !== 'resolver_ns') return outcome
  }
}

export function sendQueries(...queries: Query[]): Step {
  return { kind: 'query', queries }
}

type Waiting = { inconclusive_count: number; last_checked_at: number | null; frequency: number }

/** Whether a check comes before the wait after an inconclusive one is over, as one that somebody starts. It does not count as a wait. */
export function isBeforeWaitEnds({ inconclusive_count, last_checked_at, frequency }: Waiting, now: number): boolean {
  if (inconclusive_count === 0 || last_checked_at === null) return false
  const waitMs = INCONCLUSIVE_DELAYS_MS[Math.min(inconclusive_count, MAX_INCONCLUSIVE) - 1]!
  return now - last_checked_at < Math.min(waitMs, frequency * 60_000)
}

/** `servers`: the zone's name servers that gave the outcome. An outcome that the own network may have caused is not reported. */
export function verdict(
  check: Check,
  outcome: Outcome,
  confirmation: Confirmation,
  servers: string[] = [],
  rotation: Rotation | null = isFailure(outcome) ? check.recorded.rotation : null,
): Step {
  if (fingerprint(outcome) !== check.recorded.fingerprint) {
    // Without the root servers, an answer may be a copy in the cache of a resolver in the own network.
    const mayBeCopy = check.observations.some((each) => 'rootProblem' in each && each.rootProblem !== undefined)
    const step = requireNetwork(check, 'report', servers.length > 0 || (isAnswer(outcome) && !mayBeCopy))
    if (step) return step
  }
  return { kind: 'verdict', outcome, confirmation, servers, rotation }
}

export function inconclusive({ recorded }: Check, confirmation: Confirmation, rotation = recorded.rotation): Step {
  const afterMs = INCONCLUSIVE_DELAYS_MS[Math.min(recorded.inconclusiveCount, MAX_INCONCLUSIVE - 1)]!
  return { kind: 'inconclusive', afterMs, rotation, confirmation }
}

/** After enough inconclusive checks in a row the majority decides. */
export function isMajorityDue({ recorded }: Check): boolean {
  return recorded.mustConclude === true || recorded.inconclusiveCount >= MAX_INCONCLUSIVE
}

export function repliesByPurpose({ observations }: Check, purpose: Query['purpose']): Reply[] {
  return observations.flatMap((observation) =>
    observation.query.purpose === purpose && 'reply' in observation ? [observation.reply] : [],
  )
}

/** The resolver that gave the reply, as a list of one; empty if it is not configured. */
export function resolverOf({ capabilities }: Check, reply: Pick<Reply, 'evidence'>): ServerAddress[] {
  const server = serverOf(reply)
  return capabilities.resolvers.filter((resolver) => formatServer(resolver) === server).slice(0, 1)
}
