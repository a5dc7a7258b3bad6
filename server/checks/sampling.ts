import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Outcome, Reply } from '../dns/outcome.ts'
import {
  ask,
  type Check,
  inconclusive,
  isExhausted,
  meaningOf,
  type Query,
  type Recorded,
  report,
  type Step,
  untrusted,
  type ZoneReply,
} from './check.ts'
import { type Answer, areSame, isAnswer, isFailure, isGood, isSameSet, majority, unionOf } from './outcomes.ts'
import { type Decided, REASONS } from './reasons.ts'
import {
  ANSWERS_TO_PROVE_ABSENCE,
  addSightings,
  answerWith,
  chanceStillThere,
  DOUBT_CHANCE,
  keysOf,
  keysOfValues,
  type Member,
  newRotation,
  REPORT_CHANCE,
  type Rotation,
  type Sighting,
  sortMembers,
  without,
} from './rotation.ts'
import { asPool, fingerprint } from './verdict.ts'

/** One server that can be asked again and again. `rounds`: how often it was. */
export type Source = { server: string; said: readonly (Reply | ZoneReply)[]; rounds: number; next: Query | undefined }

/** `agreed`: the reason where all say the same. `divided`: the verdict where each server keeps to its own answer. */
export type Sampling = { isByZone: boolean; names(): string[]; agreed(): Decided; divided(): Step }

/** Answers of all servers together in one check. */
export const MOST_SAMPLES = 72
/** Where servers answer slowly: what was the same until then is taken as it is. */
const MOST_SAMPLING_MS = 3_000
/** After so many rounds in which each server kept to its own answer they disagree; fewer where one of them denies the name. */
const ROUNDS_OF_OWN = 10
const ROUNDS_OF_OWN_WITH_DENIAL = 3
/** Answers to a check of an RRset that is known to rotate, where nothing is in doubt; else as many more, again and again. */
const USUAL_SAMPLES = 8
/** Longer than `MOST_INCONCLUSIVE`: members that may be gone or new are waited for. */
const MOST_INCONCLUSIVE_MEMBERS = 8
/** Two hours: answers that hold none of the members that are recorded are waited for, as the copies in caches are few. */
const MOST_INCONCLUSIVE_REPLACED = 60

/** So long at most do the name servers of a zone take to give a change, all of them. */
const PROPAGATION_MS = 15 * 60_000

/** Only these are given in parts so often that an absent one may come later. */
const ROTATING_TYPES: readonly MonitorRecordType[] = ['A', 'AAAA', 'CNAME']

export function bySamples(check: Check, asked: readonly Source[], sampling: Sampling): Step {
  const { recorded, observations, now } = check
  const sources = recorded.isRotating ? withoutDeniers(asked) : asked
  const all = sources.flatMap((source) => source.said.map(({ outcome }) => outcome).filter(isGood))
  const rounds = Math.max(...sources.map((source) => source.rounds))
  const start = observations.findLast(({ query }) => query.purpose !== 'sample' && query.purpose !== 'zone_sample')!
  const isSilent = rounds > 1 && isLastRoundSilent(check, sources)
  const mayAsk = now.elapsed - start.elapsed < MOST_SAMPLING_MS && !isSilent && all.length < MOST_SAMPLES
  const more = ask(...sources.flatMap(({ next }) => next ?? []))
  if (recorded.isRotating && sampling.isByZone && mayAsk && all.length < USUAL_SAMPLES) return more
  const isSteady = areSame(all)
  const takesTurns = sources.some(({ said }) => !areSame(said.map(({ outcome }) => outcome).filter(isGood)))
  const answers = all.filter(isAnswer)
  const hasDenial = answers.length < all.length
  const isKnownToRotate = !hasDenial && mayRotate(recorded, answers, sampling.isByZone)

  // A rotation looks like this too: through caches, where each resolver gives its copy, and for some rounds by chance.
  if (!isSteady && !takesTurns && (sampling.isByZone ? hasDenial || !recorded.isRotating : !isKnownToRotate)) {
    const isSure = rounds > (hasDenial ? ROUNDS_OF_OWN_WITH_DENIAL : ROUNDS_OF_OWN)
    if (mayAsk && !isSure) return more
    if (isSure || !isKnownToRotate) {
      return isExhausted(check) ? sampling.divided() : inconclusive(check, REASONS.serversDiffer)
    }
  }
  if (hasDenial) {
    if (mayAsk && 0.5 ** all.length >= REPORT_CHANCE) return more
    if (isSteady) return report(check, all[0]!, sampling.agreed(), sampling.names())
    return isExhausted(check)
      ? report(check, mostOf(all), REASONS.flapping, sampling.names())
      : inconclusive(check, REASONS.flapping)
  }
  if (isSteady && !isKnownToRotate) {
    const chance = isSafeAsFirst(check, answers[0]!) ? DOUBT_CHANCE : REPORT_CHANCE
    if (mayAsk && chanceOfOneMore(answers) >= chance) return more
    return steady(check, sources, answers, sampling, mayAsk ? more : undefined)
  }
  return rotating(check, sources, answers, sampling, mayAsk ? more : undefined)
}

/** Whether the RRset rotates, or earlier checks, which were inconclusive, saw other parts of it. */
export function mayRotate(recorded: Recorded, outcomes: readonly Outcome[], isByZone: boolean): boolean {
  if (recorded.isRotating) return true
  const answers = outcomes.filter(isAnswer)
  const rotation = rememberedOf(recorded, isByZone)
  if (!rotation || answers.length === 0) return false
  const before = Object.keys(rotation.members)
  const known = answerWith(answers[0]!, before)
  return before.length > 0 && !areSame([known, ...answers])
}

/** What caches gave before a failure says nothing of the time after it: too few of their answers are seen to correct it. */
function rememberedOf({ isRotating, inconclusive, rotation }: Recorded, isByZone: boolean): Rotation | null {
  return isByZone || isRotating || inconclusive > 0 ? rotation : null
}

/** Of an RRset that is known to rotate, the servers that only deny it do not count where most servers give parts of it. */
function withoutDeniers(sources: readonly Source[]): readonly Source[] {
  const answering = sources.filter(({ said }) => said.some(({ outcome }) => isAnswer(outcome)))
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

/** The chance that an RRset with one more member would have shown only these. */
function chanceOfOneMore(answers: readonly Answer[]): number {
  const mean = answers.reduce((sum, answer) => sum + sizeOf(answer), 0) / answers.length
  return (1 - mean / (sizeOf(unionOf(answers)) + 1)) ** answers.length
}

/** Where the names on the way count, each of them is a member. */
function sizeOf({ rrset, chain }: Answer): number {
  return rrset.values.length + (rrset.type === 'CNAME' ? chain.length : 0)
}

/** A first verdict that rests on what was seen, not on what was not: a member that shows later is a change of its own. */
function isSafeAsFirst(check: Check, outcome: Outcome): boolean {
  if (check.recorded.fingerprint !== null) return false
  const { state, extra } = meaningOf(check, outcome)
  return state === 'VALID' || (state === 'MISMATCH' && extra.length > 0)
}

function steady(
  check: Check,
  sources: readonly Source[],
  answers: readonly Answer[],
  { isByZone, names, agreed }: Sampling,
  more: Step | undefined,
): Step {
  const { recorded } = check
  const outcome = answers[0]!
  const { state, missing, extra } = meaningOf(check, outcome)
  // Some of the expected addresses are given, and nothing that contradicts the others: they may be given in turn.
  const hasOthers = recorded.isExactMatch ? extra.length === 0 : missing.length < recorded.expectedValues.length
  const isPart = state === 'MISMATCH' && hasOthers
  const wasWhole = recorded.expectedValues.every((value) => recorded.values?.includes(value))
  if (isPart && !wasWhole && recorded.state !== 'MISMATCH' && ROTATING_TYPES.includes(recorded.recordType)) {
    const rotation = withAnswers(check, sources, isByZone, [])
    if (!isAbsenceProven(check, rotation, isByZone)) {
      return more && isByZone ? more : inconclusive(check, REASONS.missingUnproven, rotation)
    }
  }
  return report(check, outcome, agreed(), names())
}

function rotating(
  check: Check,
  sources: readonly Source[],
  answers: readonly Answer[],
  { isByZone, names }: Sampling,
  more: Step | undefined,
): Step {
  const { recorded } = check
  const isCounted =
    Math.floor(answers.length / USUAL_SAMPLES) > Math.floor((answers.length - sources.length) / USUAL_SAMPLES)
  if (more && isByZone && !isCounted) return more
  const rotation = withAnswers(check, sources, isByZone)
  const { present, candidates, gone, doubtful } = sortMembers(rotation, sources.length)
  const isOpen = candidates.length > 0 || doubtful.length > 0
  // A network that answers every query with an address of its own must not become a member.
  const before = recorded.rotation?.members ?? {}
  const isNew = Object.keys(rotation.members).some((key) => !Object.hasOwn(before, key))
  const captive = isNew ? untrusted(check, 'report', true) : undefined
  if (captive) return captive
  const whole = answerWith(answers[0]!, present)
  const isChanging = fingerprint(whole) !== recorded.fingerprint
  // The copy that a cache gave says no more when it is given again.
  const isHeard = areSame(answers) || answers.length >= USUAL_SAMPLES
  const isCached = !isByZone && isHeard && answers.some(({ rrset }) => rrset.ttl > 0)
  if (more && !isCached && (isOpen || isChanging)) return more
  // Through caches a doubt lasts for as long as the copies: what was given whole until then is a change, not a rotation.
  const isOld = recorded.inconclusive >= MOST_INCONCLUSIVE_MEMBERS && !isByZone && !recorded.isRotating
  const known = recordedMembers(recorded, rotation, answers)
  const chanceOfReturn = chanceStillThere(rotation, asOne(rotation, known))
  const isProven = chanceOfReturn < REPORT_CHANCE
  if (known.length > 0 && !isProven && recorded.inconclusive < MOST_INCONCLUSIVE_REPLACED) {
    return inconclusive(check, REASONS.rotatingUnproven, rotation)
  }
  const replaced = isProven ? known : isCached ? replacedMembers(check, rotation, answers) : []
  const outdated = isOld ? [...doubtful, ...replaced] : replaced
  const certain = outdated.length > 0 ? present.filter((key) => !outdated.includes(key)) : present
  const kept = without(rotation, [...gone, ...outdated])
  // The CNAME records on the way to values that are not confirmed are no RRset.
  const holdsValue = (keys: readonly string[]) => answerWith(answers[0]!, keys).rrset.values.length > 0
  const members = holdsValue(certain) ? certain : isExhausted(check) ? [...certain, ...candidates] : []
  if (!holdsValue(members)) return inconclusive(check, REASONS.rotatingUnproven, rotation)
  const union = members === present ? whole : answerWith(answers[0]!, members)
  const isUniform = areSame([union, ...answers])
  const isReplaced = replaced.length > 0 && candidates.every((key) => replaced.includes(key))
  const isWhole = isUniform && (isReplaced || chanceOfOneMore(answers) < DOUBT_CHANCE)
  const outcome = isWhole ? union : asPool(union)
  const result = report(check, outcome, isWhole ? REASONS.wholeAgain : REASONS.rotating, names(), isWhole ? null : kept)
  // A member that is new beside the recorded ones makes a rotation only when it is certain.
  const isCertain = recorded.isRotating || candidates.length === 0 || isWhole
  const isRecorded = fingerprint(outcome) === recorded.fingerprint && isCertain
  if (isRecorded || recorded.isFinal) return result

  const meaning = meaningOf(check, outcome)
  // What was recorded before a failure is back when this check saw all of it.
  const isReturn = isSameSet(meaning.values, recorded.values) && areSame([union, unionOf(answers)])
  const isValidFirst = recorded.fingerprint === null && meaning.state === 'VALID'
  if (candidates.length === 0 && (isReturn || isValidFirst)) return result
  const isFirst = recorded.fingerprint === null
  const isUnsettled = isFirst
    ? !isWellKnown(rotation) && !isExhausted(check)
    : // A change that spreads from one machine of a server to the next looks like a rotation for some minutes.
      !isExhausted(check) || (isOpen && recorded.inconclusive < MOST_INCONCLUSIVE_MEMBERS)
  // Caches that hold the old RRset beside the new one look like a rotation until the last old copy expires.
  const isReplacement = isUniform && fingerprint(union) !== recorded.fingerprint
  const isSpreading = !isByZone && !recorded.isRotating && !isReplacement && check.now.at < oldCopiesUntil(rotation)
  if (isUnsettled || isSpreading) return inconclusive(check, REASONS.rotatingUnproven, rotation)
  const isByAbsence = meaning.state === 'MISMATCH' && (!recorded.isExactMatch || meaning.extra.length === 0)
  const isAlarm = isByAbsence && recorded.state !== 'MISMATCH'
  return isAlarm && !isAbsenceProven(check, rotation, isByZone)
    ? inconclusive(check, REASONS.missingUnproven, rotation)
    : result
}

/** The members of a rotation that is recorded, where no answer holds any of them: they are gone together, or all of them return. */
function recordedMembers(recorded: Recorded, rotation: Rotation, answers: readonly Answer[]): string[] {
  const { isRotating, recordType, owner, values } = recorded
  if (!isRotating) return []
  const known = keysOfValues(recordType, owner, values ?? []).filter((key) => Object.hasOwn(rotation.members, key))
  const given = new Set(answers.flatMap(keysOf))
  return known.some((key) => given.has(key)) ? [] : known
}

/** Members of which each answer held one until they were seen last. */
function asOne({ answers, total, members }: Rotation, keys: readonly string[]): Member {
  const last = keys.length === 0 ? total : Math.max(...keys.map((key) => members[key]!.last))
  return { seen: answers - (total - last), last, servers: [] }
}

/** A cache fetched what was recorded before another one fetched something else, or from a slow name server. */
function oldCopiesUntil({ since, firstCopiesUntil = since }: Rotation): number {
  return firstCopiesUntil + PROPAGATION_MS
}

/**
 * What was recorded beside something else is a change, not a rotation, where all answers are the same once no old copy can be
 * left, and no cache fetched the other one since. Which of both is left out.
 */
function replacedMembers({ recorded, now }: Check, rotation: Rotation, answers: readonly Answer[]): string[] {
  const until = oldCopiesUntil(rotation)
  const { fingerprint: known, isRotating, recordType, owner, values } = recorded
  if (isRotating || known === null || now.at < until || !areSame(answers)) return []
  const given = keysOf(answers[0]!)
  const others = Object.keys(rotation.members).filter((key) => !given.includes(key))
  if (others.some((key) => (rotation.members[key]!.copiesUntil ?? 0) >= until)) return []
  const before = keysOfValues(recordType, owner, values ?? [])
  const isOneOfTwo = fingerprint(answers[0]!) === known || others.every((key) => before.includes(key))
  return isOneOfTwo ? others : []
}

/** What is known of the RRset's members with the answers of this check. */
function withAnswers(
  { recorded, now }: Check,
  sources: readonly Source[],
  isByZone: boolean,
  whole = wholeValues(recorded),
): Rotation {
  // In the order in which they were received: all answers of one server in a row would look like the end of the others' members.
  const rounds = Math.max(...sources.map(({ said }) => said.length))
  const sightings: Sighting[] = []
  for (let round = 0; round < rounds; round++) {
    for (const { server, said } of sources) {
      const outcome = said[round]?.outcome
      if (!outcome || !isAnswer(outcome)) continue
      const sighting = { answer: outcome, server, at: now.at }
      sightings.push(isByZone ? sighting : { ...sighting, expiresAt: now.at + outcome.rrset.ttl * 1_000 })
    }
  }
  const remembered = rememberedOf(recorded, isByZone)
  if (remembered) return addSightings(remembered, sightings)
  const rotation = addSightings(newRotation(now.at, whole), sightings)
  return isByZone
    ? rotation
    : { ...rotation, firstCopiesUntil: Math.max(...sightings.map(({ expiresAt = 0 }) => expiresAt)) }
}

/** What every answer held until now. For a CNAME the names on the way are members too, and are not recorded. */
function wholeValues({ fingerprint: known, isRotating, recordType, values }: Recorded): readonly string[] {
  return known === null || isRotating || recordType === 'CNAME' ? [] : (values ?? [])
}

/** Through caches, answers that count are rare: so many prove that a value is absent, or so much time. */
const RESOLVER_ANSWERS_TO_PROVE_ABSENCE = 20
const LONGEST_WAIT_MS = 2 * 60 * 60_000

/** Whether each expected value that is missing was seen and is gone, or never came in enough answers. */
function isAbsenceProven(check: Check, rotation: Rotation, isByZone: boolean): boolean {
  if (check.recorded.isFinal) return true
  const like = anyAnswer(check)
  const seen = Object.keys(rotation.members)
  if (like && seen.length > 0) {
    const { present, candidates } = sortMembers(rotation, 1)
    if (meaningOf(check, answerWith(like, [...present, ...candidates])).state === 'VALID') return false
    if (meaningOf(check, answerWith(like, seen)).missing.length === 0) return true
  }
  if (isByZone) return rotation.answers >= ANSWERS_TO_PROVE_ABSENCE
  const isLong = check.now.at - rotation.since >= LONGEST_WAIT_MS
  return rotation.answers >= RESOLVER_ANSWERS_TO_PROVE_ABSENCE || isLong
}

function anyAnswer({ observations }: Check): Answer | undefined {
  for (const one of observations) {
    const outcome = 'reply' in one ? one.reply.outcome : 'zone' in one ? one.zone.outcome : undefined
    if (outcome && isAnswer(outcome) && one.query.purpose !== 'resolver_delegation') return outcome
  }
}

/** Every member came often enough for another one to have shown. */
function isWellKnown({ answers, members }: Rotation): boolean {
  return answers >= 20 && Object.values(members).every(({ seen }) => seen >= 4)
}

/** An RRset that is given in parts counts as one answer. */
function mostOf(all: readonly Outcome[]): Outcome {
  const answers = all.filter(isAnswer)
  return answers.length * 2 > all.length
    ? unionOf(answers)
    : majority(
        all.filter((each) => !isAnswer(each)),
        null,
      )!
}
