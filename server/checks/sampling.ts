import { isUsable } from '../dns/outcome.ts'
import {
  applyRules,
  type Check,
  inconclusive,
  isMajorityDue,
  type Observation,
  type Query,
  type Rule,
  type SampledServer,
  type Samples,
  type Sampling,
  type Step,
  sendQueries,
  verdict,
} from './check-state.ts'
import { type Answer, areSame, isAnswer, isFailure, majority, mergeAnswers } from './outcomes.ts'
import { CONFIRMATIONS } from './reasons.ts'
import { hiddenMemberProbability, MAX_ERROR_PROBABILITY, RECHECK_PROBABILITY } from './rotation.ts'
import { decideByMembers, isAbsenceProven, mayRotate, rotationWith, USUAL_SAMPLES } from './rotation-rules.ts'
import { evaluateAtFirst, evaluateWithDifference } from './verdict.ts'

/** Of all servers together in one check. */
const MAX_SAMPLES = 72
/** If servers answer slowly, the answers until then decide. */
const MAX_SAMPLING_MS = 3_000
/** Of the whole check. A sample that follows a CNAME into another zone takes two or more. */
const MAX_QUERIES = 120
/** If each server repeats its own answer for this many rounds, they disagree. Fewer if one of them denies the name. */
const DISAGREEMENT_ROUNDS = 10
const DENIAL_DISAGREEMENT_ROUNDS = 3

/** The keys, the answer, and a part of those for the zones above. */
const QUERIES_TO_VALIDATE = 3

const SAMPLES: readonly Query['purpose'][] = ['name_server_sample', 'resolver_sample']

/** Queries the servers repeatedly until their answers are certain. */
export function decideBySampling(check: Check, allServers: readonly SampledServer[], sampling: Sampling): Step {
  return applyRules(SAMPLING_RULES, samplesOf(check, allServers, sampling))
}

/** In the order in which they apply. */
export const SAMPLING_RULES: readonly Rule<Samples>[] = [
  {
    name: 'Usual number of answers',
    rationale: 'Fewer than 8 answers show too little of an RRset that is recorded as rotating.',
    apply: ({ check, sampling, outcomes, nextRound }) =>
      check.recorded.isRotating && sampling.isByZone && outcomes.length < USUAL_SAMPLES ? nextRound : undefined,
  },
  {
    name: 'Each server its own answer',
    rationale:
      'A rotation can look like this by chance for some rounds. Servers that each keep their own answer disagree.',
    apply: serversDisagree,
  },
  {
    name: 'Denials',
    rationale:
      'A denial is certain if all servers repeat it. If some answers have records, two thirds must be denials.',
    apply: denials,
  },
  {
    name: 'Enough equal answers',
    rationale: 'Equal answers prove that the RRset is complete only once one more member would have appeared.',
    apply: enoughEqualAnswers,
  },
  {
    name: 'Part of the expected values',
    rationale: 'Missing expected values may appear in another answer, so MISMATCH waits until their absence is proven.',
    apply: partOfTheExpectedValues,
  },
  {
    name: 'All the same',
    rationale: 'An answer that all servers repeat often enough is correct.',
    apply: ({ check, sampling, answers, areAllEqual, isKnownToRotate }) =>
      areAllEqual() && !isKnownToRotate()
        ? verdict(check, answers[0]!, sampling.confirmAgreement(), sampling.nameServers())
        : undefined,
  },
  {
    name: 'Rotation',
    rationale: 'An RRset that arrives in different parts is judged by its members, counted over all checks.',
    apply: decideByMembers,
  },
]

function samplesOf(check: Check, allServers: readonly SampledServer[], sampling: Sampling): Samples {
  const { recorded, observations, now } = check
  const servers = recorded.isRotating ? withoutDenyingServers(allServers) : allServers
  const outcomes = servers.flatMap((server) => server.replies.map(({ outcome }) => outcome).filter(isUsable))
  const answers = outcomes.filter(isAnswer)
  const rounds = Math.max(...servers.map((server) => server.rounds))
  // A check of the own network comes after the samples, and does not restart their time.
  const start = observations.findLast(({ query: { purpose } }) => !['network', ...SAMPLES].includes(purpose))!
  const isUnanswered = rounds > 1 && isLastRoundUnanswered(check, servers)
  const isInTime = now.elapsed - start.elapsed < MAX_SAMPLING_MS && sum(observations.map(queriesOf)) < MAX_QUERIES
  const mayContinue = isInTime && !isUnanswered && outcomes.length < MAX_SAMPLES
  const hasDenial = answers.length < outcomes.length
  return {
    check,
    sampling,
    servers,
    outcomes,
    answers,
    rounds,
    nextRound: mayContinue ? sendQueries(...servers.flatMap(({ next }) => next ?? [])) : undefined,
    hasDenial,
    areAllEqual: () => areSame(outcomes),
    doesAnyServerVary: () =>
      servers.some(({ replies }) => !areSame(replies.map(({ outcome }) => outcome).filter(isUsable))),
    isKnownToRotate: () => !hasDenial && mayRotate(recorded, answers, sampling.isByZone),
  }
}

/** If most servers return members of a rotating RRset, servers that only deny it do not count. */
function withoutDenyingServers(servers: readonly SampledServer[]): readonly SampledServer[] {
  const answering = servers.filter(({ replies }) => replies.some(({ outcome }) => isAnswer(outcome)))
  return answering.length * 2 > servers.length ? answering : servers
}

function isLastRoundUnanswered({ observations }: Check, servers: readonly SampledServer[]): boolean {
  const count = servers.filter(({ next }) => next).length
  const samples = observations.filter(({ query }) => SAMPLES.includes(query.purpose))
  return samples.slice(-count).every((sample) => {
    const reply = 'reply' in sample ? sample.reply : 'nameServerReply' in sample ? sample.nameServerReply : undefined
    return !reply || isFailure(reply.outcome)
  })
}

function serversDisagree(samples: Samples): Step | undefined {
  const { check, sampling, rounds, nextRound, hasDenial, areAllEqual, doesAnyServerVary, isKnownToRotate } = samples
  if (areAllEqual() || doesAnyServerVary()) return undefined
  // A resolver repeats its cached copy, also of a rotating RRset.
  if (sampling.isByZone ? isPartOfRotation(samples) : isKnownToRotate()) return undefined
  const isSure = rounds > (hasDenial ? DENIAL_DISAGREEMENT_ROUNDS : DISAGREEMENT_ROUNDS)
  if (nextRound && !isSure) return nextRound
  if (!isSure && isKnownToRotate()) return undefined
  const { nameServersDisagree, resolversDisagree } = CONFIRMATIONS
  return isMajorityDue(check)
    ? sampling.decideDisagreement()
    : inconclusive(
        check,
        sampling.isByZone ? nameServersDisagree : resolversDisagree,
        !hasDenial && mayBePartsAtFirst(samples) ? rotationWith(samples) : check.recorded.rotation,
      )
}

/** Different answers with expected values alone may be parts of one RRset. Further checks then add to them. */
function mayBePartsAtFirst({ check, answers }: Samples): boolean {
  return evaluateAtFirst(check, mergeAnswers(answers))?.extra.length === 0
}

/** A recorded rotation of which this check has not seen all members: they may still appear. */
function isPartOfRotation({ check, answers, hasDenial }: Samples): boolean {
  const { isRotating, values } = check.recorded
  if (!isRotating || hasDenial) return false
  const seen = evaluateWithDifference(check, mergeAnswers(answers)).values
  return !(values ?? []).every((value) => seen.includes(value))
}

function denials({ check, sampling, outcomes, nextRound, hasDenial, areAllEqual }: Samples): Step | undefined {
  if (!hasDenial) return undefined
  if (nextRound && 0.5 ** outcomes.length >= MAX_ERROR_PROBABILITY) return nextRound
  if (areAllEqual()) return verdict(check, outcomes[0]!, sampling.confirmAgreement(), sampling.nameServers())
  if (!isMajorityDue(check)) return inconclusive(check, CONFIRMATIONS.flapping)
  // Answers with different members count as one. Two thirds must be denials, because few samples can be half denials by chance.
  const answers = outcomes.filter(isAnswer)
  const isAnswered = answers.length * 3 > outcomes.length
  const most = isAnswered ? mergeAnswers(answers) : majority(withoutAnswers(outcomes), null)!
  return verdict(check, most, CONFIRMATIONS.flapping, sampling.nameServers())
}

function withoutAnswers(outcomes: Samples['outcomes']): Samples['outcomes'] {
  return outcomes.filter((outcome) => !isAnswer(outcome))
}

function enoughEqualAnswers({ check, answers, nextRound, areAllEqual, isKnownToRotate }: Samples): Step | undefined {
  if (!areAllEqual() || isKnownToRotate()) return undefined
  const chance = isSafeAsFirst(check, answers[0]!) ? RECHECK_PROBABILITY : MAX_ERROR_PROBABILITY
  return hiddenMemberProbability(answers) >= chance ? nextRound : undefined
}

/** A first verdict that does not depend on absent members: one that appears later is another change. */
function isSafeAsFirst(check: Check, answer: Answer): boolean {
  if (check.recorded.fingerprint !== null) return false
  const { state, extra } = evaluateWithDifference(check, answer)
  return state === 'VALID' || (state === 'MISMATCH' && extra.length > 0)
}

function partOfTheExpectedValues(samples: Samples): Step | undefined {
  const { check, sampling, answers, nextRound, areAllEqual, isKnownToRotate } = samples
  const { recorded } = check
  if (!areAllEqual() || isKnownToRotate()) return undefined
  if (recorded.state === 'MISMATCH') return undefined
  const { state, missing, extra } = evaluateWithDifference(check, answers[0]!)
  // Some of the expected values are present, and nothing rules out the others.
  const hasOthers = recorded.isExactMatch ? extra.length === 0 : missing.length < recorded.expectedValues.length
  const wasComplete = recorded.expectedValues.every((value) => recorded.values?.includes(value))
  if (state !== 'MISMATCH' || !hasOthers || wasComplete) return undefined
  const rotation = rotationWith(samples, [])
  if (isAbsenceProven(samples, rotation)) return undefined
  return nextRound && sampling.isByZone ? nextRound : inconclusive(check, CONFIRMATIONS.absenceUnconfirmed, rotation)
}

/** About as many as it took: each server above was asked for the delegation, and most name servers for their address. */
function queriesOf(observation: Observation): number {
  if ('view' in observation)
    return 1 + (observation.view?.parents.length ?? 0) + (observation.view?.nameServers.length ?? 0)
  if ('validity' in observation) return QUERIES_TO_VALIDATE
  if ('reply' in observation) return observation.reply.evidence.length
  return 'nameServerReply' in observation ? observation.nameServerReply.evidence.length : 1
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
