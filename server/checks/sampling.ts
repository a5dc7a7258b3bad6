import {
  applyRules,
  type Check,
  inconclusive,
  isMajorityDue,
  type Rule,
  reportOutcome,
  type SampledServer,
  type Samples,
  type Sampling,
  type Step,
  sendQueries,
} from './check.ts'
import { type Answer, areSame, isAnswer, isFailure, isUsable, majority, mergeAnswers } from './outcomes.ts'
import { CONFIRMATIONS } from './reasons.ts'
import { MAX_ERROR_PROBABILITY, RECHECK_PROBABILITY } from './rotation.ts'
import {
  decideByMembers,
  hiddenMemberProbability,
  isAbsenceProven,
  mayRotate,
  rotationWith,
  USUAL_SAMPLES,
} from './rotation-rules.ts'
import { evaluateWithDifference } from './verdict.ts'

/** Answers of all servers together in one check. */
const MAX_SAMPLES = 72
/** Where servers answer slowly: what was the same until then is taken as it is. */
const MAX_SAMPLING_MS = 3_000
/** After so many rounds in which each server kept to its own answer they disagree; fewer where one of them denies the name. */
const DISAGREEMENT_ROUNDS = 10
const DENIAL_DISAGREEMENT_ROUNDS = 3

/** Decides by servers that are queried again and again, until what they say is certain. */
export function decideBySampling(check: Check, asked: readonly SampledServer[], sampling: Sampling): Step {
  return applyRules(SAMPLING_RULES, samplesOf(check, asked, sampling))
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
    rationale:
      'Missing expected addresses may appear in another answer, so MISMATCH waits until their absence is proven.',
    apply: partOfTheExpectedValues,
  },
  {
    name: 'All the same',
    rationale: 'An answer that all servers repeat often enough is correct.',
    apply: ({ check, sampling, answers, areAllEqual, isKnownToRotate }) =>
      areAllEqual() && !isKnownToRotate()
        ? reportOutcome(check, answers[0]!, sampling.confirmAgreement(), sampling.nameServers())
        : undefined,
  },
  {
    name: 'Rotation',
    rationale: 'An RRset that arrives in different parts is judged by its members, counted over all checks.',
    apply: decideByMembers,
  },
]

function samplesOf(check: Check, asked: readonly SampledServer[], sampling: Sampling): Samples {
  const { recorded, observations, now } = check
  const sources = recorded.isRotating ? withoutDenyingServers(asked) : asked
  const outcomes = sources.flatMap((source) => source.replies.map(({ outcome }) => outcome).filter(isUsable))
  const answers = outcomes.filter(isAnswer)
  const rounds = Math.max(...sources.map((source) => source.rounds))
  const start = observations.findLast(
    ({ query }) => query.purpose !== 'resolver_sample' && query.purpose !== 'name_server_sample',
  )!
  const isSilent = rounds > 1 && isLastRoundSilent(check, sources)
  const mayAsk = now.elapsed - start.elapsed < MAX_SAMPLING_MS && !isSilent && outcomes.length < MAX_SAMPLES
  const hasDenial = answers.length < outcomes.length
  return {
    check,
    sampling,
    sources,
    outcomes,
    answers,
    rounds,
    nextRound: mayAsk ? sendQueries(...sources.flatMap(({ next }) => next ?? [])) : undefined,
    hasDenial,
    areAllEqual: () => areSame(outcomes),
    doesAnyServerVary: () =>
      sources.some(({ replies }) => !areSame(replies.map(({ outcome }) => outcome).filter(isUsable))),
    isKnownToRotate: () => !hasDenial && mayRotate(recorded, answers, sampling.isByZone),
  }
}

/** Of an RRset that is known to rotate, the servers that only deny it do not count where most servers give parts of it. */
function withoutDenyingServers(sources: readonly SampledServer[]): readonly SampledServer[] {
  const answering = sources.filter(({ replies }) => replies.some(({ outcome }) => isAnswer(outcome)))
  return answering.length * 2 > sources.length ? answering : sources
}

function isLastRoundSilent({ observations }: Check, sources: readonly SampledServer[]): boolean {
  const count = sources.filter(({ next }) => next).length
  const samples = observations.filter(
    ({ query }) => query.purpose === 'name_server_sample' || query.purpose === 'resolver_sample',
  )
  return samples.slice(-count).every((one) => {
    const reply = 'reply' in one ? one.reply : 'nameServerReply' in one ? one.nameServerReply : undefined
    return !reply || isFailure(reply.outcome)
  })
}

function serversDisagree(samples: Samples): Step | undefined {
  const { check, sampling, rounds, nextRound, hasDenial, areAllEqual, doesAnyServerVary, isKnownToRotate } = samples
  if (areAllEqual() || doesAnyServerVary()) return undefined
  // Through caches each resolver keeps to its copy, also of a rotation.
  if (sampling.isByZone ? isPartOfRotation(samples) : isKnownToRotate()) return undefined
  const isSure = rounds > (hasDenial ? DENIAL_DISAGREEMENT_ROUNDS : DISAGREEMENT_ROUNDS)
  if (nextRound && !isSure) return nextRound
  if (!isSure && isKnownToRotate()) return undefined
  return isMajorityDue(check) ? sampling.decideDisagreement() : inconclusive(check, CONFIRMATIONS.nameServersDisagree)
}

/** A recorded rotation of which some members were not given in this check: they may come between. */
function isPartOfRotation({ check, answers, hasDenial }: Samples): boolean {
  const { isRotating, values } = check.recorded
  if (!isRotating || hasDenial) return false
  const given = evaluateWithDifference(check, mergeAnswers(answers)).values
  return !(values ?? []).every((value) => given.includes(value))
}

function denials({ check, sampling, outcomes, nextRound, hasDenial, areAllEqual }: Samples): Step | undefined {
  if (!hasDenial) return undefined
  if (nextRound && 0.5 ** outcomes.length >= MAX_ERROR_PROBABILITY) return nextRound
  if (areAllEqual()) return reportOutcome(check, outcomes[0]!, sampling.confirmAgreement(), sampling.nameServers())
  if (!isMajorityDue(check)) return inconclusive(check, CONFIRMATIONS.flapping)
  // An RRset that is given in parts counts as one answer. A server that denies now and then denies half of a few samples by chance.
  const answers = outcomes.filter(isAnswer)
  const isAnswered = answers.length * 3 > outcomes.length
  const most = isAnswered ? mergeAnswers(answers) : majority(withoutAnswers(outcomes), null)!
  return reportOutcome(check, most, CONFIRMATIONS.flapping, sampling.nameServers())
}

function withoutAnswers(outcomes: Samples['outcomes']): Samples['outcomes'] {
  return outcomes.filter((outcome) => !isAnswer(outcome))
}

function enoughEqualAnswers({ check, answers, nextRound, areAllEqual, isKnownToRotate }: Samples): Step | undefined {
  if (!areAllEqual() || isKnownToRotate()) return undefined
  const chance = isSafeAsFirst(check, answers[0]!) ? RECHECK_PROBABILITY : MAX_ERROR_PROBABILITY
  return hiddenMemberProbability(answers) >= chance ? nextRound : undefined
}

/** A first verdict that rests on what was seen, not on what was not: a member that shows later is a change of its own. */
function isSafeAsFirst(check: Check, answer: Answer): boolean {
  if (check.recorded.fingerprint !== null) return false
  const { state, extra } = evaluateWithDifference(check, answer)
  return state === 'VALID' || (state === 'MISMATCH' && extra.length > 0)
}

/** Only these are given in parts so often that an absent one may come later. */
const ROTATING_TYPES = ['A', 'AAAA', 'CNAME']

function partOfTheExpectedValues(samples: Samples): Step | undefined {
  const { check, sampling, answers, nextRound, areAllEqual, isKnownToRotate } = samples
  const { recorded } = check
  if (!areAllEqual() || isKnownToRotate()) return undefined
  if (recorded.state === 'MISMATCH' || !ROTATING_TYPES.includes(recorded.recordType.name)) return undefined
  const { state, missing, extra } = evaluateWithDifference(check, answers[0]!)
  // Some of the expected addresses are given, and nothing that contradicts the others.
  const hasOthers = recorded.isExactMatch ? extra.length === 0 : missing.length < recorded.expectedValues.length
  const wasWhole = recorded.expectedValues.every((value) => recorded.values?.includes(value))
  if (state !== 'MISMATCH' || !hasOthers || wasWhole) return undefined
  const rotation = rotationWith(samples, [])
  if (isAbsenceProven(samples, rotation)) return undefined
  return nextRound && sampling.isByZone ? nextRound : inconclusive(check, CONFIRMATIONS.absenceUnconfirmed, rotation)
}
