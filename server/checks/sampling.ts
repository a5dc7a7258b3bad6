import {
  ask,
  type Check,
  decideBy,
  inconclusive,
  isExhausted,
  type Rule,
  report,
  type Samples,
  type Sampling,
  type Source,
  type Step,
} from './check.ts'
import { type Answer, areSame, isAnswer, isFailure, isGood, majority, unionOf } from './outcomes.ts'
import { REASONS } from './reasons.ts'
import { DOUBT_CHANCE, REPORT_CHANCE } from './rotation.ts'
import {
  chanceOfOneMore,
  decideByMembers,
  isAbsenceProven,
  mayRotate,
  USUAL_SAMPLES,
  withAnswers,
} from './rotation-rules.ts'
import { meaningOf } from './verdict.ts'

/** Answers of all servers together in one check. */
const MOST_SAMPLES = 72
/** Where servers answer slowly: what was the same until then is taken as it is. */
const MOST_SAMPLING_MS = 3_000
/** After so many rounds in which each server kept to its own answer they disagree; fewer where one of them denies the name. */
const ROUNDS_OF_OWN = 10
const ROUNDS_OF_OWN_WITH_DENIAL = 3

/** Decides by servers that are queried again and again, until what they say is certain. */
export function bySamples(check: Check, asked: readonly Source[], sampling: Sampling): Step {
  return decideBy(SAMPLING_RULES, samplesOf(check, asked, sampling))
}

/** In the order in which they apply. */
export const SAMPLING_RULES: readonly Rule<Samples>[] = [
  {
    name: 'Usual number of answers',
    because: 'Fewer than 8 answers show too little of an RRset that is recorded as rotating.',
    apply: ({ check, sampling, all, more }) =>
      check.recorded.isRotating && sampling.isByZone && all.length < USUAL_SAMPLES ? more : undefined,
  },
  {
    name: 'Each server its own answer',
    because:
      'A rotation can look like this by chance for some rounds. Servers that each keep their own answer disagree.',
    apply: eachItsOwnAnswer,
  },
  {
    name: 'Denials',
    because: 'A denial is certain if all servers repeat it. If some answers have records, two thirds must be denials.',
    apply: denials,
  },
  {
    name: 'Enough equal answers',
    because: 'Equal answers prove that the RRset is complete only once one more member would have appeared.',
    apply: enoughEqualAnswers,
  },
  {
    name: 'Part of the expected values',
    because:
      'Missing expected addresses may appear in another answer, so MISMATCH waits until their absence is proven.',
    apply: partOfTheExpectedValues,
  },
  {
    name: 'All the same',
    because: 'An answer that all servers repeat often enough is correct.',
    apply: ({ check, sampling, answers, isSteady, isKnownToRotate }) =>
      isSteady() && !isKnownToRotate() ? report(check, answers[0]!, sampling.agreed(), sampling.names()) : undefined,
  },
  {
    name: 'Rotation',
    because: 'An RRset that arrives in different parts is judged by its members, counted over all checks.',
    apply: decideByMembers,
  },
]

function samplesOf(check: Check, asked: readonly Source[], sampling: Sampling): Samples {
  const { recorded, observations, now } = check
  const sources = recorded.isRotating ? withoutDeniers(asked) : asked
  const all = sources.flatMap((source) => source.replies.map(({ outcome }) => outcome).filter(isGood))
  const answers = all.filter(isAnswer)
  const rounds = Math.max(...sources.map((source) => source.rounds))
  const start = observations.findLast(({ query }) => query.purpose !== 'sample' && query.purpose !== 'zone_sample')!
  const isSilent = rounds > 1 && isLastRoundSilent(check, sources)
  const mayAsk = now.elapsed - start.elapsed < MOST_SAMPLING_MS && !isSilent && all.length < MOST_SAMPLES
  const hasDenial = answers.length < all.length
  return {
    check,
    sampling,
    sources,
    all,
    answers,
    rounds,
    more: mayAsk ? ask(...sources.flatMap(({ next }) => next ?? [])) : undefined,
    hasDenial,
    isSteady: () => areSame(all),
    isAnyVarying: () => sources.some(({ replies }) => !areSame(replies.map(({ outcome }) => outcome).filter(isGood))),
    isKnownToRotate: () => !hasDenial && mayRotate(recorded, answers, sampling.isByZone),
  }
}

/** Of an RRset that is known to rotate, the servers that only deny it do not count where most servers give parts of it. */
function withoutDeniers(sources: readonly Source[]): readonly Source[] {
  const answering = sources.filter(({ replies }) => replies.some(({ outcome }) => isAnswer(outcome)))
  return answering.length * 2 > sources.length ? answering : sources
}

function isLastRoundSilent({ observations }: Check, sources: readonly Source[]): boolean {
  const count = sources.filter(({ next }) => next).length
  const samples = observations.filter(({ query }) => query.purpose === 'zone_sample' || query.purpose === 'sample')
  return samples.slice(-count).every((one) => {
    const reply = 'reply' in one ? one.reply : 'zone' in one ? one.zone : undefined
    return !reply || isFailure(reply.outcome)
  })
}

function eachItsOwnAnswer(samples: Samples): Step | undefined {
  const { check, sampling, rounds, more, hasDenial, isSteady, isAnyVarying, isKnownToRotate } = samples
  if (isSteady() || isAnyVarying()) return undefined
  // Through caches each resolver keeps to its copy, also of a rotation.
  if (sampling.isByZone ? isPartOfRotation(samples) : isKnownToRotate()) return undefined
  const isSure = rounds > (hasDenial ? ROUNDS_OF_OWN_WITH_DENIAL : ROUNDS_OF_OWN)
  if (more && !isSure) return more
  if (!isSure && isKnownToRotate()) return undefined
  return isExhausted(check) ? sampling.divided() : inconclusive(check, REASONS.serversDiffer)
}

/** A recorded rotation of which some members were not given in this check: they may come between. */
function isPartOfRotation({ check, answers, hasDenial }: Samples): boolean {
  const { isRotating, values } = check.recorded
  if (!isRotating || hasDenial) return false
  const given = meaningOf(check, unionOf(answers)).values
  return !(values ?? []).every((value) => given.includes(value))
}

function denials({ check, sampling, all, more, hasDenial, isSteady }: Samples): Step | undefined {
  if (!hasDenial) return undefined
  if (more && 0.5 ** all.length >= REPORT_CHANCE) return more
  if (isSteady()) return report(check, all[0]!, sampling.agreed(), sampling.names())
  if (!isExhausted(check)) return inconclusive(check, REASONS.flapping)
  // An RRset that is given in parts counts as one answer. A server that denies now and then denies half of a few samples by chance.
  const answers = all.filter(isAnswer)
  const isAnswered = answers.length * 3 > all.length
  const most = isAnswered ? unionOf(answers) : majority(withoutAnswers(all), null)!
  return report(check, most, REASONS.flapping, sampling.names())
}

function withoutAnswers(all: Samples['all']): Samples['all'] {
  return all.filter((outcome) => !isAnswer(outcome))
}

function enoughEqualAnswers({ check, answers, more, isSteady, isKnownToRotate }: Samples): Step | undefined {
  if (!isSteady() || isKnownToRotate()) return undefined
  const chance = isSafeAsFirst(check, answers[0]!) ? DOUBT_CHANCE : REPORT_CHANCE
  return chanceOfOneMore(answers) >= chance ? more : undefined
}

/** A first verdict that rests on what was seen, not on what was not: a member that shows later is a change of its own. */
function isSafeAsFirst(check: Check, answer: Answer): boolean {
  if (check.recorded.fingerprint !== null) return false
  const { state, extra } = meaningOf(check, answer)
  return state === 'VALID' || (state === 'MISMATCH' && extra.length > 0)
}

/** Only these are given in parts so often that an absent one may come later. */
const ROTATING_TYPES = ['A', 'AAAA', 'CNAME']

function partOfTheExpectedValues(samples: Samples): Step | undefined {
  const { check, sampling, answers, more, isSteady, isKnownToRotate } = samples
  const { recorded } = check
  if (!isSteady() || isKnownToRotate()) return undefined
  if (recorded.state === 'MISMATCH' || !ROTATING_TYPES.includes(recorded.recordType.name)) return undefined
  const { state, missing, extra } = meaningOf(check, answers[0]!)
  // Some of the expected addresses are given, and nothing that contradicts the others.
  const hasOthers = recorded.isExactMatch ? extra.length === 0 : missing.length < recorded.expectedValues.length
  const wasWhole = recorded.expectedValues.every((value) => recorded.values?.includes(value))
  if (state !== 'MISMATCH' || !hasOthers || wasWhole) return undefined
  const rotation = withAnswers(samples, [])
  if (isAbsenceProven(samples, rotation)) return undefined
  return more && sampling.isByZone ? more : inconclusive(check, REASONS.missingUnproven, rotation)
}
