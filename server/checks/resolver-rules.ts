import type { ConfirmationReason } from '#contract/reasons.ts'
import type { Outcome, Reply, ServerAddress } from '../dns/outcome.ts'
import { formatServer } from '../dns/server-address.ts'
import {
  ask,
  type Check,
  decideBy,
  first,
  inconclusive,
  isExhausted,
  PAUSE_MS,
  type Query,
  type Rule,
  repliesTo,
  report,
  type Source,
  type Step,
  serverOf,
} from './check.ts'
import { fingerprint } from './fingerprint.ts'
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
import { mayRotate } from './rotation-rules.ts'
import { bySamples } from './sampling.ts'
import { viewOf } from './split-horizon.ts'

/** How many resolvers are queried in addition to the first. */
const OTHER_RESOLVERS = 2
/** If none of them answers, each is queried this many times again: packets are lost, and some resolvers never answer. */
const SILENT_ROUNDS = 2

/** Decides by the recursive resolvers. */
export function decideByResolvers(check: Check): Step {
  return decideBy(RESOLVER_RULES, repliesOf(check))
}

/** What the resolvers replied. */
type Replies = {
  check: Check
  replies: readonly Reply[]
  /** Answers and denials, without failures. */
  good: readonly Reply[]
  /** Of the good ones, where they contradict one another, the last of each resolver. */
  counted: readonly Outcome[]
  /** What two of them say. */
  agreed: Outcome | undefined
  /** The failure of another resolver, where only one gives what is agreed. */
  failure: Outcome | undefined
  /** Queries another resolver; undefined when enough were queried. */
  another: Step | undefined
}

/** In the order in which they apply. */
export const RESOLVER_RULES: readonly Rule<Replies>[] = [
  {
    name: 'Second resolver',
    because: 'One resolver may have an old, forged or blocked answer.',
    apply: ({ replies, another }) => (replies.length < 2 ? another : undefined),
  },
  {
    name: 'Silence',
    because: 'Packets are lost, and some resolvers never respond, so each is queried twice more.',
    apply: silence,
  },
  {
    name: 'Lame delegation',
    because: 'A zone that none of its name servers serves cannot be resolved.',
    apply: ({ check, good }) => {
      const { failure } = check.zone
      return good.length === 0 && failure?.kind === 'lame' ? report(check, failure, REASONS.lame) : undefined
    },
  },
  {
    name: 'CNAME loop',
    because: 'Many resolvers answer SERVFAIL for a CNAME loop, but answer for each link alone.',
    apply: cnameLoop,
  },
  {
    name: 'All fail',
    because: 'If two resolvers fail, with a pause between the queries, the name has failed.',
    apply: ({ check, replies, good }) => (good.length === 0 ? reportFailure(check, replies) : undefined),
  },
  {
    name: 'Zone fails',
    because: "Resolvers may receive other records. The zone's servers are queried again before the resolvers decide.",
    apply: ({ check, agreed, another }) => {
      const isOpen = agreed && check.zone.failure && !isExhausted(check) && !isRecorded(check, agreed)
      return isOpen ? (another ?? inconclusive(check, REASONS.zoneSilent)) : undefined
    },
  },
  {
    name: 'One resolver against failures',
    because: 'The only resolver that answers may block the name, or have an old copy of a zone that fails.',
    apply: ({ check, failure, another }) => {
      if (!failure) return undefined
      if (another) return another
      return isExhausted(check)
        ? report(check, failure, REASONS.resolversDivided)
        : inconclusive(check, REASONS.resolversDiffer)
    },
  },
  {
    name: 'Two agree',
    because: 'Two answers that agree decide, after enough answers to reveal a rotation.',
    apply: twoAgree,
  },
  {
    name: 'Recorded, beside failures',
    because: 'An answer with the recorded values, or a known part of them, needs no second one.',
    apply: ({ check, good }) => {
      const kept = good.length === 1 ? asRecorded(check, good[0]!.outcome) : undefined
      return kept && report(check, kept, REASONS.recordedStill, [], check.recorded.rotation)
    },
  },
  {
    name: 'Third resolver',
    because: 'Two answers that differ need a third.',
    apply: ({ another }) => another,
  },
  {
    name: 'One good answer',
    because: 'If the others failed, the same resolver and those that failed are queried again.',
    apply: oneGoodAnswer,
  },
  {
    name: 'All differ',
    because: 'Different answers mean a rotation, or caches of different age. More answers show which.',
    apply: ({ check, good }) => (good.length > 1 ? bySamplesOfResolvers(check, good) : undefined),
  },
  {
    name: 'Wait',
    because: 'A result that is not certain is checked again after 30, 60 and 120 s.',
    apply: ({ check }) => (isExhausted(check) ? undefined : inconclusive(check, REASONS.resolversDiffer)),
  },
  {
    name: 'Majority',
    because: 'After that, Zonewatch reports the failure that contradicts a single answer, or the majority answer.',
    apply: majorityDecides,
  },
]

function repliesOf(check: Check): Replies {
  const { setup } = check
  const replies = [first(check)!, ...repliesTo(check, 'again')]
  const good = replies.filter(({ outcome }) => isGood(outcome))
  const isDivided = !areSame(good.map(({ outcome }) => outcome))
  const each = isDivided ? [...new Map(good.map((reply) => [serverTextOf(reply), reply])).values()] : good
  const counted = each.map(({ outcome }) => outcome)
  const agreed = counted.find((outcome, at) => counted.findIndex((other) => isSame(other, outcome)) < at)
  const next = nextResolvers(setup.resolvers, replies)
  return {
    check,
    replies,
    good,
    counted,
    agreed,
    failure: agreed && failureBeside(check, replies, agreed),
    another: next && ask(askAgain(check, next, replies)),
  }
}

function isRecorded({ recorded }: Check, outcome: Outcome): boolean {
  return fingerprint(outcome) === recorded.fingerprint
}

function silence({ check, replies, good }: Replies): Step | undefined {
  const isSilent = replies.some(({ outcome }) => outcome.kind === 'timeout' || outcome.kind === 'unreachable')
  const asked = check.setup.resolvers.slice(0, OTHER_RESOLVERS + 1)
  const isSure = replies.length > asked.length * SILENT_ROUNDS
  if (good.length > 0 || !isSilent || isSure) return undefined
  return ask(...asked.map((server) => askAgain(check, [server], replies)))
}

function cnameLoop({ check, replies, good }: Replies): Step | undefined {
  if (good.length > 0 || !replies.some(({ outcome }) => isServfail(outcome))) return undefined
  const chain = repliesTo(check, 'each_link')[0]
  if (!chain) return ask({ purpose: 'each_link' })
  return chain.outcome.kind === 'cname_loop' ? report(check, chain.outcome, REASONS.loop) : undefined
}

function reportFailure(check: Check, replies: readonly Reply[]): Step {
  const failure = mostTelling(replies.map(({ outcome }) => outcome))
  return report(check, failure, REASONS.failed(check.zone.notAsked ?? otherViewOf(check)))
}

function twoAgree({ check, good, counted, agreed }: Replies): Step | undefined {
  if (!agreed) return undefined
  const { recorded } = check
  if (isRecorded(check, agreed) && !mayRotate(recorded, counted, false)) {
    return report(check, agreed, resolversAgree(check))
  }
  const sampled = good.filter(({ outcome }) => recorded.isRotating || isSame(outcome, agreed))
  return bySamplesOfResolvers(check, sampled)
}

function oneGoodAnswer({ check, replies, good }: Replies): Step | undefined {
  if (good.length !== 1 || replies.filter((reply) => isFromSameServer(reply, good[0]!)).length > 1) return undefined
  const same = serverOf(check, good[0]!)
  const others = check.setup.resolvers.filter((server) => !same.includes(server)).slice(0, OTHER_RESOLVERS)
  return ask(...[same, ...others.map((server) => [server])].map((servers) => askAgain(check, servers, replies)))
}

function majorityDecides({ check, replies, good }: Replies): Step {
  const failure = good[0] && failureBeside(check, replies, good[0].outcome)
  if (failure) return report(check, failure, REASONS.resolversDivided)
  const outcomes = replies.map(({ outcome }) => outcome)
  const most = majority(outcomes, check.recorded.fingerprint) ?? outcomes.find(isGood) ?? mostTelling(outcomes)
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

function bySamplesOfResolvers(check: Check, replies: readonly Reply[]): Step {
  const samples = repliesTo(check, 'sample')
  const byServer = new Map(replies.map((reply) => [serverTextOf(reply), reply]))
  const sources = [...byServer].map(([server, reply]): Source => {
    const replies = [reply, ...samples.filter((sample) => serverTextOf(sample) === server)]
    return { server, replies, rounds: replies.length, next: { purpose: 'sample', servers: serverOf(check, reply) } }
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
