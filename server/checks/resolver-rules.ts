import type { ConfirmationReason } from '#contract/reasons.ts'
import { isUsable, type Outcome, type Reply, type ServerAddress } from '../dns/outcome.ts'
import { formatServer } from '../dns/server-address.ts'
import {
  applyRules,
  type Check,
  firstReply,
  inconclusive,
  isMajorityDue,
  type Query,
  RETRY_PAUSE_MS,
  type Rule,
  repliesByPurpose,
  resolverOf,
  type SampledServer,
  type Step,
  sendQueries,
  verdict,
} from './check-state.ts'
import { hasOnlyCopies, onlyCopies } from './copies-rule.ts'
import { fingerprint } from './fingerprint.ts'
import {
  areSame,
  isAnswer,
  isFailure,
  isSame,
  isServfail,
  majority,
  mergeAnswers,
  mostInformative,
  serverOf,
} from './outcomes.ts'
import { CONFIRMATIONS, type Confirmation } from './reasons.ts'
import { answerWithMembers, classifyMembers } from './rotation.ts'
import { mayRotate } from './rotation-rules.ts'
import { decideBySampling } from './sampling.ts'
import { doesZoneDecide, findOtherView, isQuorum } from './split-horizon.ts'

/** How many resolvers are queried in addition to the first. */
const OTHER_RESOLVERS = 2
/** If no resolver responds, each is queried this many times again. */
const SILENT_ROUNDS = 2
/** So many name servers are queried again before their silence counts. */
const FEW_SERVERS = 2

export function decideByResolvers(check: Check): Step {
  const step = applyRules(RESOLVER_RULES, repliesOf(check))
  const isNew = step.kind === 'verdict' && !isRecorded(check, step.outcome)
  // The root servers may answer again after an outage or a captive portal, while what resolvers have is still old.
  return isNew && isRootProblemOld(check) ? sendQueries({ purpose: 'root_servers', isAgain: true }) : step
}

function isRootProblemOld({ observations }: Check): boolean {
  const last = observations.findLast((observation) => 'rootProblem' in observation)
  if (last?.query.purpose !== 'root_servers' || last.query.isAgain) return false
  return 'rootProblem' in last && last.rootProblem !== undefined
}

type Replies = {
  check: Check
  replies: readonly Reply[]
  /** Answers and denials, without failures. */
  usable: readonly Reply[]
  /** The outcomes of `usable`; if they differ, only the last one of each resolver. */
  counted: readonly Outcome[]
  /** The outcome that two of them share. */
  agreed: Outcome | undefined
  /** The failure of another resolver, if all that agree came from one resolver. */
  failure: Outcome | undefined
  /** Queries another resolver. Undefined after enough queries. */
  nextQuery: Step | undefined
}

/** In the order in which they apply. */
export const RESOLVER_RULES: readonly Rule<Replies>[] = [
  {
    name: 'Second resolver',
    rationale: 'One resolver may have an old, forged or blocked answer.',
    apply: ({ replies, nextQuery }) => (replies.length < 2 ? nextQuery : undefined),
  },
  {
    name: 'Copies in caches',
    rationale:
      'If all name servers of the zone fail, a resolver counts only if it can still resolve a name that no cache has, by the current delegation.',
    apply: ({ check, replies, usable }) => onlyCopies(check, replies, usable.length > 0),
  },
  {
    name: 'Silence',
    rationale: 'Packets are lost, and some resolvers never respond, so each is queried twice more.',
    apply: silence,
  },
  {
    name: 'Lame delegation',
    rationale: 'A zone that none of its name servers serves cannot be resolved.',
    apply: ({ check, usable }) => {
      const { failure } = check.zone
      return usable.length === 0 && failure?.kind === 'lame'
        ? verdict(check, failure, CONFIRMATIONS.allServersFail)
        : undefined
    },
  },
  {
    name: 'CNAME loop',
    rationale: 'Many resolvers answer SERVFAIL for a CNAME loop, but answer for each link alone.',
    apply: cnameLoop,
  },
  {
    name: 'All fail',
    rationale: 'If two resolvers fail, with a pause between the queries, the name has failed.',
    apply: ({ check, replies, usable }) =>
      usable.length === 0 ? (queryFewServersAgain(check) ?? reportFailure(check, replies)) : undefined,
  },
  {
    name: 'Zone fails',
    rationale: "Resolvers may receive other records. The zone's servers are queried again before the resolvers decide.",
    apply: ({ check, usable, agreed, nextQuery }) => {
      const isBusy = check.zone.unavailableReason === CONFIRMATIONS.nameServersBusy
      // The same resolver twice is one source.
      const isAlone = isBusy && new Set(usable.map(serverOf)).size === 1
      const isSourceFailing = check.zone.failure !== undefined || isDelegationUnknown(check) || isAlone
      const isUnconfirmed = agreed && isSourceFailing && !isMajorityDue(check) && !isRecorded(check, agreed)
      if (!isUnconfirmed) return undefined
      return (
        nextQuery ?? inconclusive(check, isBusy ? [CONFIRMATIONS.nameServersBusy] : CONFIRMATIONS.nameServersSilent)
      )
    },
  },
  {
    name: 'One resolver against failures',
    rationale: 'The only resolver that answers may block the name, or have an old copy of a zone that fails.',
    apply: ({ check, failure, nextQuery }) => {
      if (!failure) return undefined
      if (nextQuery) return nextQuery
      return isMajorityDue(check)
        ? verdict(check, failure, CONFIRMATIONS.resolversMajority)
        : inconclusive(check, CONFIRMATIONS.resolversDisagree)
    },
  },
  {
    name: 'Two agree',
    rationale: 'Two answers that agree decide, after enough answers to reveal a rotation.',
    apply: twoAgree,
  },
  {
    name: 'Recorded, beside failures',
    rationale: 'An answer with the recorded values, or a known part of them, needs no second one.',
    apply: ({ check, usable }) => {
      const recorded = usable.length === 1 ? recordedOutcome(check, usable[0]!.outcome) : undefined
      return recorded && verdict(check, recorded, CONFIRMATIONS.recordedValuesReturned, [], check.recorded.rotation)
    },
  },
  {
    name: 'Third resolver',
    rationale: 'Two answers that differ need a third.',
    apply: ({ nextQuery }) => nextQuery,
  },
  {
    name: 'One good answer',
    rationale: 'If the others failed, the same resolver and those that failed are queried again.',
    apply: oneUsableAnswer,
  },
  {
    name: 'All differ',
    rationale: 'Different answers mean a rotation, or caches of different age. More answers show which.',
    apply: ({ check, usable }) => (usable.length > 1 ? sampleResolvers(check, usable) : undefined),
  },
  {
    name: 'Wait',
    rationale: 'A result that is not certain is checked again after 30, 60 and 120 s.',
    apply: ({ check }) => (isMajorityDue(check) ? undefined : inconclusive(check, CONFIRMATIONS.resolversDisagree)),
  },
  {
    name: 'Majority',
    rationale: 'After that, Zonewatch reports the failure that contradicts a single answer, or the majority answer.',
    apply: majorityDecides,
  },
]

function repliesOf(check: Check): Replies {
  const { capabilities } = check
  const replies = [firstReply(check)!, ...repliesByPurpose(check, 'retry')]
  const usable = replies.filter((reply) => isUsable(reply.outcome) && !hasOnlyCopies(check, reply))
  const isUnanimous = areSame(usable.map(({ outcome }) => outcome))
  const latest = isUnanimous ? usable : [...new Map(usable.map((reply) => [serverOf(reply), reply])).values()]
  const counted = latest.map(({ outcome }) => outcome)
  const agreed = counted.find((outcome, index) => counted.findIndex((other) => isSame(other, outcome)) < index)
  const next = nextResolvers(capabilities.resolvers, replies)
  return {
    check,
    replies,
    usable,
    counted,
    agreed,
    failure: agreed && contradictingFailure(check, replies, agreed),
    nextQuery: next && sendQueries(retryQuery(check, next, replies)),
  }
}

function isRecorded({ recorded }: Check, outcome: Outcome): boolean {
  return fingerprint(outcome) === recorded.fingerprint
}

function silence({ check, replies, usable }: Replies): Step | undefined {
  const hasTimeout = replies.some(({ outcome }) => outcome.kind === 'timeout' || outcome.kind === 'unreachable')
  const resolvers = check.capabilities.resolvers.slice(0, OTHER_RESOLVERS + 1)
  const isSure = replies.length > resolvers.length * SILENT_ROUNDS
  if (usable.length > 0 || !hasTimeout || isSure) return undefined
  return sendQueries(...resolvers.map((server) => retryQuery(check, [server], replies)))
}

function cnameLoop({ check, replies, usable }: Replies): Step | undefined {
  if (usable.length > 0 || !replies.some(({ outcome }) => isServfail(outcome))) return undefined
  const chain = repliesByPurpose(check, 'cname_links')[0]
  if (!chain) return sendQueries({ purpose: 'cname_links' })
  return chain.outcome.kind === 'cname_loop' ? verdict(check, chain.outcome, CONFIRMATIONS.cnameLoop) : undefined
}

/** Few servers of a zone may be those that were left behind. */
export function compareFewServers(check: Check): Step | undefined {
  if (isQuorum(check) || check.recorded.isRotating || !doesZoneDecide(check)) return undefined
  const { nextQuery, usable, counted, agreed } = repliesOf(check)
  const { outcome } = check.zone.usable[0]!
  const isContradicted = counted.some((each) => !isSame(each, outcome))
  if (!isContradicted && usable.length > 1) return undefined
  if (nextQuery) return nextQuery
  if (!isContradicted) return undefined
  if (!isMajorityDue(check)) return inconclusive(check, CONFIRMATIONS.fewNameServers)
  return agreed && !isSame(agreed, outcome) ? verdict(check, agreed, CONFIRMATIONS.fewNameServers) : undefined
}

/** Lost packets alone may be why one or two name servers did not answer. */
function queryFewServersAgain({ zone: { view, failure, replies }, observations }: Check): Step | undefined {
  const servers = view?.nameServers ?? []
  const isSilent = failure?.kind === 'timeout' && replies.length === servers.length
  if (!isSilent || servers.length > FEW_SERVERS) return undefined
  const notBefore = observations.at(-1)!.elapsed + RETRY_PAUSE_MS
  return sendQueries(
    ...servers.map((_, server) => ({ purpose: 'name_server' as const, server, fresh: false, notBefore })),
  )
}

function reportFailure(check: Check, replies: readonly Reply[]): Step {
  const failure = mostInformative(replies.map(({ outcome }) => outcome))
  return verdict(check, failure, CONFIRMATIONS.failureConfirmed(whyResolversDecide(check)))
}

function twoAgree({ check, usable, counted, agreed }: Replies): Step | undefined {
  if (!agreed) return undefined
  const { recorded } = check
  if (isRecorded(check, agreed) && !mayRotate(recorded, counted, false)) {
    return verdict(check, agreed, resolversAgree(check))
  }
  const sampled = usable.filter(({ outcome }) => recorded.isRotating || isSame(outcome, agreed))
  return sampleResolvers(check, sampled)
}

function oneUsableAnswer({ check, replies, usable }: Replies): Step | undefined {
  if (usable.length !== 1 || replies.filter((reply) => isFromSameServer(reply, usable[0]!)).length > 1) return undefined
  const same = resolverOf(check, usable[0]!)
  const others = check.capabilities.resolvers.filter((server) => !same.includes(server)).slice(0, OTHER_RESOLVERS)
  const targets = [same, ...others.map((server) => [server])]
  return sendQueries(...targets.map((servers) => retryQuery(check, servers, replies)))
}

function majorityDecides({ check, replies, usable }: Replies): Step {
  const failure = usable[0] && contradictingFailure(check, replies, usable[0].outcome)
  if (failure) return verdict(check, failure, CONFIRMATIONS.resolversMajority)
  const outcomes = replies.map(({ outcome }) => outcome)
  const winner = majority(outcomes, check.recorded.fingerprint) ?? outcomes.find(isUsable) ?? mostInformative(outcomes)
  return verdict(check, winner, CONFIRMATIONS.resolversMajority)
}

/** After a failure, only after a pause. */
function retryQuery({ observations }: Check, servers: readonly ServerAddress[], replies: readonly Reply[]): Query {
  const isAfterFailure = replies.some(({ outcome }) => isFailure(outcome))
  const notBefore = isAfterFailure ? { notBefore: observations.at(-1)!.elapsed + RETRY_PAUSE_MS } : {}
  return { purpose: 'retry', servers, ...notBefore }
}

/** Another resolver, or the same one again if there is no other. Undefined after enough queries. */
function nextResolvers(
  resolvers: readonly ServerAddress[],
  replies: readonly Reply[],
): readonly ServerAddress[] | undefined {
  const queried = new Set(replies.flatMap(({ evidence }) => evidence.map(({ server }) => server)))
  const others = resolvers.filter((server) => !queried.has(formatServer(server)))
  if (others.length > 0 && replies.length <= OTHER_RESOLVERS) return others.slice(0, 1)
  return replies.length > 1 ? undefined : resolvers
}

/** The recorded outcome, if this is it or a part of it. */
function recordedOutcome({ recorded }: Check, outcome: Outcome): Outcome | undefined {
  if (fingerprint(outcome) === recorded.fingerprint) return outcome
  if (!recorded.isRotating || !recorded.rotation || !isAnswer(outcome)) return undefined
  const { present } = classifyMembers(recorded.rotation, 1)
  const whole: Outcome = { ...answerWithMembers(outcome, present), pool: 'whole' }
  const isPart = areSame([whole, mergeAnswers([whole, outcome])])
  return isPart && fingerprint(whole) === recorded.fingerprint ? whole : undefined
}

function isFromSameServer(one: Reply, other: Reply): boolean {
  return serverOf(one) === serverOf(other)
}

/**
 * The failure of another resolver, if only one resolver gives the agreed outcome. That resolver may block the name, or answer
 * from its cache although the zone fails.
 */
function contradictingFailure(check: Check, replies: readonly Reply[], agreed: Outcome): Outcome | undefined {
  // One resolver may fail on a CNAME loop that another one reports.
  if (fingerprint(agreed) === check.recorded.fingerprint || agreed.kind === 'cname_loop') return undefined
  const supporters = replies.filter(({ outcome }) => isSame(outcome, agreed))
  if (!supporters.every((reply) => isFromSameServer(reply, supporters[0]!))) return undefined
  const failures = replies.flatMap(({ evidence }) => evidence).filter(({ outcome }) => outcome?.kind === 'failure')
  // Two resolvers that still give the recorded failure outweigh one that may have an old or forged answer.
  const recorded = failures.filter(({ outcome }) => fingerprint(outcome!) === check.recorded.fingerprint)
  const others = new Set(recorded.map(({ server }) => server))
  others.delete(serverOf(supporters[0]!))
  if (isAnswer(agreed) && !check.zone.failure && others.size < 2) return undefined
  return failures[0]?.outcome ?? (isAnswer(agreed) ? undefined : check.zone.failure)
}

function sampleResolvers(check: Check, replies: readonly Reply[]): Step {
  const samples = repliesByPurpose(check, 'resolver_sample')
  const byServer = new Map(replies.map((reply) => [serverOf(reply), reply]))
  const servers = [...byServer].map(([server, reply]): SampledServer => {
    const replies = [reply, ...samples.filter((sample) => serverOf(sample) === server)]
    return {
      server,
      replies,
      rounds: replies.length,
      next: { purpose: 'resolver_sample', servers: resolverOf(check, reply) },
    }
  })
  const step = decideBySampling(check, servers, {
    isByZone: false,
    nameServers: () => [],
    confirmAgreement: () => resolversAgree(check),
    decideDisagreement: () => {
      const outcomes = replies.map(({ outcome }) => outcome)
      const answers = outcomes.filter(isAnswer)
      const winner = majority(outcomes, check.recorded.fingerprint)
      if (winner) return verdict(check, winner, CONFIRMATIONS.resolversMajority)
      const { failure } = check.zone
      if (failure) return verdict(check, failure, CONFIRMATIONS.resolversMajority)
      return verdict(check, { ...mergeAnswers(answers), pool: 'part' }, CONFIRMATIONS.rotating)
    },
  })
  // While the servers of a rotating RRset fail, resolvers may have members that these never return, as those of another region.
  const isSourceFailing = check.zone.usable.length === 0 && check.observations.some((each) => 'view' in each)
  const isKnown = isSourceFailing && check.recorded.isRotating
  return isKnown && step.kind === 'inconclusive' ? { ...step, rotation: check.recorded.rotation } : step
}

/** Whether no server of the zones above answered, so that nobody knows who publishes the records now. */
function isDelegationUnknown({ observations }: Check): boolean {
  return observations.some((each) => 'view' in each && each.view?.isUnknown === true)
}

function resolversAgree(check: Check): Confirmation {
  const servers = new Set<string>()
  for (const observation of check.observations) {
    if ('reply' in observation) for (const { server } of observation.reply.evidence) servers.add(server)
  }
  return CONFIRMATIONS.resolversAgree(servers.size, whyResolversDecide(check))
}

function whyResolversDecide(check: Check): ConfirmationReason | undefined {
  if (check.zone.unavailableReason) return check.zone.unavailableReason
  const view = check.zone.usable.length > 0 ? findOtherView(check) : undefined
  return Array.isArray(view) ? undefined : view
}
