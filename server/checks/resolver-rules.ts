import type { ConfirmationReason } from '#contract/reasons.ts'
import type { Outcome, Reply, ServerAddress } from '../dns/outcome.ts'
import { formatServer } from '../dns/servers.ts'
import {
  ask,
  type Check,
  first,
  inconclusive,
  isExhausted,
  PAUSE_MS,
  type Query,
  repliesTo,
  report,
  type Step,
  serverOf,
} from './check.ts'
import {
  areSame,
  isAnswer,
  isFailure,
  isGood,
  isSame,
  isServfail,
  majority,
  mostTelling,
  serverTextOf,
  unionOf,
} from './outcomes.ts'
import { type Decided, REASONS } from './reasons.ts'
import { answerWith, sortMembers } from './rotation.ts'
import { bySamples, mayRotate, type Source } from './sampling.ts'
import { viewOf } from './split-horizon.ts'
import { fingerprint } from './verdict.ts'

/** So many resolvers are asked beside the first. */
const OTHER_RESOLVERS = 2
/** Where all that was heard is silence, each of them is asked so many times again: packets are lost, and some resolvers never answer. */
const SILENT_ROUNDS = 2

export function decideByResolvers(check: Check): Step {
  const { setup, recorded } = check
  const replies = [first(check)!, ...repliesTo(check, 'again')]
  const good = replies.filter(({ outcome }) => isGood(outcome))
  const found = replies.length < 2 ? undefined : byAgreement(check, replies, good)
  if (found) return found
  const next = nextResolvers(setup.resolvers, replies)
  if (next) return ask(askAgain(check, next, replies))
  // One good answer beside failures is worth a second query to the same server, and to those that failed.
  if (good.length === 1 && replies.filter((reply) => isFromSameServer(reply, good[0]!)).length < 2) {
    const same = serverOf(check, good[0]!)
    const others = setup.resolvers.filter((server) => !same.includes(server)).slice(0, OTHER_RESOLVERS)
    return ask(...[same, ...others.map((server) => [server])].map((servers) => askAgain(check, servers, replies)))
  }
  if (good.length > 1) return bySamplesOfResolvers(check, good)
  if (!isExhausted(check)) return inconclusive(check, REASONS.resolversDiffer)
  const failure = good[0] && failureBeside(check, replies, good[0].outcome)
  if (failure) return report(check, failure, REASONS.resolversDivided)
  const outcomes = replies.map(({ outcome }) => outcome)
  const most = majority(outcomes, recorded.fingerprint) ?? outcomes.find(isGood) ?? mostTelling(outcomes)
  return report(check, most, REASONS.resolversDivided)
}

/** After a failure only when a pause has passed. */
function askAgain({ observations }: Check, servers: readonly ServerAddress[], replies: readonly Reply[]): Query {
  const isAfterFailure = replies.some(({ outcome }) => isFailure(outcome))
  const notBefore = isAfterFailure ? { notBefore: observations.at(-1)!.elapsed + PAUSE_MS } : {}
  return { purpose: 'again', servers, ...notBefore }
}

/** Another resolver; where there is none the same once more. Undefined when enough were asked. */
function nextResolvers(
  resolvers: readonly ServerAddress[],
  replies: readonly Reply[],
): readonly ServerAddress[] | undefined {
  const asked = new Set(replies.flatMap(({ evidence }) => evidence.map(({ server }) => server)))
  const others = resolvers.filter((server) => !asked.has(formatServer(server)))
  if (others.length > 0 && replies.length <= OTHER_RESOLVERS) return others.slice(0, 1)
  return replies.length > 1 ? undefined : resolvers
}

/** The recorded outcome where this is it, or holds some of its members. */
function asRecorded({ recorded }: Check, outcome: Outcome): Outcome | undefined {
  if (fingerprint(outcome) === recorded.fingerprint) return outcome
  if (!recorded.isRotating || !recorded.rotation || !isAnswer(outcome)) return undefined
  const { present } = sortMembers(recorded.rotation, 1)
  const whole: Outcome = { ...answerWith(outcome, present), pool: 'whole' }
  const isPart = areSame([whole, unionOf([whole, outcome])])
  return isPart && fingerprint(whole) === recorded.fingerprint ? whole : undefined
}

function isFromSameServer(one: Reply, other: Reply): boolean {
  return serverTextOf(one) === serverTextOf(other)
}

/** Undefined while no two paths have agreed. */
function byAgreement(check: Check, replies: readonly Reply[], good: readonly Reply[]): Step | undefined {
  const { recorded, setup } = check
  if (good.length === 0) {
    // Silence of one more server says little: it may never answer.
    const isSilent = replies.some(({ outcome }) => outcome.kind === 'timeout' || outcome.kind === 'unreachable')
    const asked = setup.resolvers.slice(0, OTHER_RESOLVERS + 1)
    const isSure = replies.length > asked.length * SILENT_ROUNDS
    if (isSilent && !isSure) return ask(...asked.map((server) => askAgain(check, [server], replies)))
    return allFailed(check, replies)
  }
  // Where resolvers contradict one another, each of them counts once.
  const isDivided = !areSame(good.map(({ outcome }) => outcome))
  const counted = isDivided ? [...new Map(good.map((reply) => [serverTextOf(reply), reply])).values()] : good
  const outcomes = counted.map(({ outcome }) => outcome)
  const agreed = outcomes.find((outcome, at) => outcomes.findIndex((other) => isSame(other, outcome)) < at)
  // The zone's servers are asked again before resolvers, which may be given other records, decide.
  if (agreed && check.zone.failure && !isExhausted(check) && fingerprint(agreed) !== recorded.fingerprint) {
    return nextResolvers(setup.resolvers, replies) ? undefined : inconclusive(check, REASONS.zoneSilent)
  }
  const contradiction = agreed && failureBeside(check, replies, agreed)
  if (contradiction) {
    if (nextResolvers(setup.resolvers, replies)) return undefined
    if (!isExhausted(check)) return inconclusive(check, REASONS.resolversDiffer)
    return report(check, contradiction, REASONS.resolversDivided)
  }
  if (agreed) {
    const isRecorded = fingerprint(agreed) === recorded.fingerprint
    if (isRecorded && !mayRotate(recorded, outcomes, false)) return report(check, agreed, resolversAgree(check))
    return bySamplesOfResolvers(
      check,
      good.filter(({ outcome }) => recorded.isRotating || isSame(outcome, agreed)),
    )
  }
  // Beside failures alone, one answer that is the recorded one, or a known part of it, ends the matter.
  const kept = good.length === 1 ? asRecorded(check, outcomes[0]!) : undefined
  return kept && report(check, kept, REASONS.recordedStill, [], recorded.rotation)
}

/**
 * The failure that another resolver answered with where only one gives the outcome. That one may block the name, or answer
 * from its cache for a zone that fails.
 */
function failureBeside(check: Check, replies: readonly Reply[], agreed: Outcome): Outcome | undefined {
  // A resolver may give up on a CNAME loop that another one reports.
  if (fingerprint(agreed) === check.recorded.fingerprint || agreed.kind === 'cname_loop') return undefined
  const supporters = replies.filter(({ outcome }) => isSame(outcome, agreed))
  if (!supporters.every((reply) => isFromSameServer(reply, supporters[0]!))) return undefined
  const failures = replies.flatMap(({ evidence }) => evidence).filter(({ outcome }) => outcome?.kind === 'failure')
  // Two other resolvers that still give the recorded failure outweigh one that may hold an old or forged answer.
  const still = failures.filter(({ outcome }) => fingerprint(outcome!) === check.recorded.fingerprint)
  const others = new Set(still.map(({ server }) => server))
  others.delete(serverTextOf(supporters[0]!)!)
  return isAnswer(agreed) && !check.zone.failure && others.size < 2 ? undefined : (failures[0]?.outcome ?? undefined)
}

function allFailed(check: Check, replies: readonly Reply[]): Step {
  const { failure, notAsked } = check.zone
  if (failure?.kind === 'lame') return report(check, failure, REASONS.lame)
  const outcomes = replies.map(({ outcome }) => outcome)
  if (outcomes.some(isServfail)) {
    // Many resolvers answer a CNAME loop with SERVFAIL, and yet answer for each link alone.
    const chain = repliesTo(check, 'each_link')[0]
    if (!chain) return ask({ purpose: 'each_link' })
    if (chain.outcome.kind === 'cname_loop') return report(check, chain.outcome, REASONS.loop)
  }
  return report(check, mostTelling(outcomes), REASONS.failed(notAsked ?? otherViewOf(check)))
}

function bySamplesOfResolvers(check: Check, replies: readonly Reply[]): Step {
  const samples = repliesTo(check, 'sample')
  const byServer = new Map(replies.map((reply) => [serverTextOf(reply), reply]))
  const sources = [...byServer].map(([server, reply]): Source => {
    const said = [reply, ...samples.filter((sample) => serverTextOf(sample) === server)]
    return { server, said, rounds: said.length, next: { purpose: 'sample', servers: serverOf(check, reply) } }
  })
  return bySamples(check, sources, {
    isByZone: false,
    names: () => [],
    agreed: () => resolversAgree(check),
    divided: () => {
      const outcomes = replies.map(({ outcome }) => outcome)
      const answers = outcomes.filter(isAnswer)
      const found = majority(outcomes, check.recorded.fingerprint)
      if (found) return report(check, found, REASONS.resolversDivided)
      const { failure } = check.zone
      if (failure) return report(check, failure, REASONS.resolversDivided)
      return report(check, { ...unionOf(answers), pool: 'part' }, REASONS.rotating)
    },
  })
}

function resolversAgree(check: Check): Decided {
  const servers = new Set<string>()
  for (const one of check.observations) {
    if ('reply' in one) for (const { server } of one.reply.evidence) servers.add(server)
  }
  return REASONS.resolversAgree(servers.size, check.zone.notAsked ?? otherViewOf(check))
}

function otherViewOf(check: Check): ConfirmationReason | undefined {
  const view = check.zone.good.length > 0 ? viewOf(check) : undefined
  return Array.isArray(view) ? undefined : view
}
