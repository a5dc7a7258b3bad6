import type { MonitorState } from '#contract/monitors.ts'
import type { ConfirmationReason } from '#contract/reasons.ts'
import type { NetworkState } from '../dns/network-check.ts'
import type { Outcome, Reply, ServerAddress } from '../dns/outcome.ts'
import type { AuthoritativeReply } from '../dns/resolver/authoritative-client.ts'
import type { RootProblem } from '../dns/resolver/root-servers.ts'
import { formatServer } from '../dns/server-address.ts'
import type { MonitoredType } from '../monitors/record-types/record-type.ts'
import type { ExpectedChange } from './expected-change.ts'
import { fingerprint } from './fingerprint.ts'
import { type Answer, isAnswer, isFailure, serverOf } from './outcomes.ts'
import { CONFIRMATIONS, type Confirmation } from './reasons.ts'
import type { Rotation } from './rotation.ts'

/** A check so far. Data, but for the record type; the rules are in `state-machine.ts`. */
export type CheckSoFar = {
  recorded: Recorded
  /** In the order in which they were received. Only grows. */
  observations: readonly Observation[]
  now: Instant
  setup: Setup
}

/** Everything that a rule may know. */
export type Check = CheckSoFar & { zone: ZoneReplies }

/**
 * What the zone's name servers said last. `next`: what to query before that is known. `failure` and `notAsked`: why it does not
 * count where `good` is empty.
 */
export type ZoneReplies = {
  pendingQueries: Query[]
  usable: NameServerReply[]
  failure: Outcome | undefined
  unavailableReason: ConfirmationReason | undefined
}

/** What is recorded of a monitor before the check. `isFinal`: give a verdict now, however little is certain. */
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
  mustConclude?: boolean
  /** A planned change that is in progress, or over. */
  change?: ExpectedChange | undefined
}

/** `resolvers`: the recursive servers. `zone`: whether the zone's own name servers may be asked. `canaries`: whether there are any. */
export type Setup = { resolvers: readonly ServerAddress[]; hasAuthoritativeClient: boolean; hasNetworkCheck: boolean }

/** `at`: UTC epoch milliseconds. `elapsed`: milliseconds that no clock step changes; all durations are measured by it. */
export type Instant = { at: number; elapsed: number }

/**
 * One query to send, all of one step at the same time, each not before `notBefore` (elapsed milliseconds). Queries for the
 * monitor's records go over UDP, and over TCP where the answer is truncated; `server` of a zone is the n-th of its name servers.
 */
export type Query = { notBefore?: number } & (
  | { purpose: 'first' }
  | { purpose: 'retry'; servers: readonly ServerAddress[] }
  | { purpose: 'resolver_sample'; servers: readonly ServerAddress[] }
  | { purpose: 'checking_disabled'; servers: readonly ServerAddress[] }
  | { purpose: 'other_type' }
  | { purpose: 'cname_links' }
  | { purpose: 'resolver_ns'; name: string; servers: readonly ServerAddress[]; attempts: number }
  | { purpose: 'name_server'; server: number; fresh: boolean }
  | { purpose: 'name_server_sample'; server: number }
  | { purpose: 'zone_ns'; name: string }
  | { purpose: 'root_servers' }
  | { purpose: 'network' }
)

/** What a zone's name server says. `owner`: the name that was queried first. `server`: its number in the query. */
export type NameServerReply = AuthoritativeReply & { owner: string; server: number }

export type Observation = Instant & { query: Query } & (
    | { reply: Reply }
    | { nameServerReply: NameServerReply }
    | { nsReply: AuthoritativeReply }
    | { rootProblem: RootProblem | undefined }
    | { network: NetworkState }
  )

export type Step =
  | { kind: 'query'; queries: Query[] }
  /** The outcome is the recorded one, found by one query. */
  | { kind: 'unchanged' }
  /** `confirmation`: how it was reached. `servers`: names of the zone's name servers that say it. */
  | { kind: 'verdict'; outcome: Outcome; confirmation: Confirmation; servers: string[]; rotation: Rotation | null }
  /** Nothing is reported yet; check again after the delay. */
  | { kind: 'inconclusive'; afterMs: number; rotation: Rotation | null; confirmation: Confirmation }
  /** Our own network is at fault, so nothing was learned. */
  | { kind: 'suppressed'; afterMs: number; confirmation: Confirmation }

const INCONCLUSIVE_DELAYS_MS = [30_000, 60_000, 120_000] as const
const SUPPRESSED_DELAY_MS = 5_000
/** After this many inconclusive checks in a row the majority decides. */
export const MAX_INCONCLUSIVE = INCONCLUSIVE_DELAYS_MS.length
/** A failure is queried again only after a pause, so that a short interruption passes. */
export const RETRY_PAUSE_MS = 3_000

/** `because`: why it is so, in one line. `apply`: undefined where the rule does not apply. */
export type Rule<Facts> = { name: string; rationale: string; apply(facts: Facts): Step | undefined }

/** The first rule that applies decides. The last one of a list always does. */
export function applyRules<Facts>(rules: readonly Rule<Facts>[], facts: Facts): Step {
  for (const rule of rules) {
    const step = rule.apply(facts)
    if (step) return step
  }
  throw new Error('The last rule of a list always applies.')
}

// Servers that are queried repeatedly

/** One of them. `replies`: oldest first. `rounds`: how often it was queried. */
export type SampledServer = {
  server: string
  replies: readonly (Reply | NameServerReply)[]
  rounds: number
  next: Query | undefined
}

/** `agreed`: the reason where all say the same. `divided`: the verdict where each server keeps to its own answer. */
export type Sampling = {
  isByZone: boolean
  nameServers(): string[]
  confirmAgreement(): Confirmation
  decideDisagreement(): Step
}

/** What they said in one check. */
export type Samples = {
  check: Check
  sampling: Sampling
  sources: readonly SampledServer[]
  /** Answers and denials, without failures. */
  outcomes: readonly Outcome[]
  answers: readonly Answer[]
  rounds: number
  /** Queries each of them once more; undefined where this check has queried enough, or they stopped answering. */
  nextRound: Step | undefined
  hasDenial: boolean
  /** All said the same. */
  areAllEqual(): boolean
  /** One server said different things. */
  doesAnyServerVary(): boolean
  /** The RRset is recorded as rotating, or earlier inconclusive checks saw other parts of it. */
  isKnownToRotate(): boolean
}

// What rules share

export function firstReply({ observations }: Pick<Check, 'observations'>): Reply | undefined {
  const found = observations[0]
  return found && 'reply' in found ? found.reply : undefined
}

/**
 * A step while the network is unknown or at fault; undefined where an outcome can be believed. `stage`: at any time after the
 * first answer, or after the last one. `isEvidence`: the outcome is one that a network without a way out cannot make up.
 */
export function requireNetwork(check: Check, stage: 'first' | 'report', isEvidence = false): Step | undefined {
  if (!check.setup.hasNetworkCheck) return undefined
  const { observations } = check
  const isReply = (one: Observation) => 'reply' in one || 'nameServerReply' in one
  const since = stage === 'first' ? 0 : observations.findLastIndex(isReply)
  const found = observations.find((one, at) => at > since && 'network' in one)
  if (!found || !('network' in found)) return sendQueries({ purpose: 'network' })
  const { network } = found
  if (network === 'well' || (network === 'gone' && isEvidence)) return undefined
  return { kind: 'suppressed', afterMs: SUPPRESSED_DELAY_MS, confirmation: CONFIRMATIONS.ownNetworkDown }
}

export function sendQueries(...queries: Query[]): Step {
  return { kind: 'query', queries }
}

/** `servers`: the zone's name servers that say so. What may have been made up by our own network is not reported. */
export function reportOutcome(
  check: Check,
  outcome: Outcome,
  confirmation: Confirmation,
  servers: string[] = [],
  rotation: Rotation | null = isFailure(outcome) ? check.recorded.rotation : null,
): Step {
  if (fingerprint(outcome) !== check.recorded.fingerprint) {
    const step = requireNetwork(check, 'report', servers.length > 0 || isAnswer(outcome))
    if (step) return step
  }
  return { kind: 'verdict', outcome, confirmation, servers, rotation }
}

export function inconclusive({ recorded }: Check, confirmation: Confirmation, rotation = recorded.rotation): Step {
  const afterMs = INCONCLUSIVE_DELAYS_MS[Math.min(recorded.inconclusiveCount, MAX_INCONCLUSIVE - 1)]!
  return { kind: 'inconclusive', afterMs, rotation, confirmation }
}

/** The servers disagreed often enough in a row: the majority decides. */
export function isMajorityDue({ recorded }: Check): boolean {
  return recorded.mustConclude === true || recorded.inconclusiveCount >= MAX_INCONCLUSIVE
}

export function repliesByPurpose({ observations }: Check, purpose: Query['purpose']): Reply[] {
  return observations.flatMap((one) => (one.query.purpose === purpose && 'reply' in one ? [one.reply] : []))
}

/** The resolver that gave the reply. */
export function resolverOf({ setup }: Check, reply: Pick<Reply, 'evidence'>): ServerAddress[] {
  const server = serverOf(reply)
  return setup.resolvers.filter((one) => formatServer(one) === server).slice(0, 1)
}
