import type { Outcome } from '../dns/outcome.ts'
import {
  applyRules,
  type Check,
  inconclusive,
  isMajorityDue,
  type Recorded,
  type Rule,
  reportOutcome,
  requireNetwork,
  type Samples,
  type Step,
} from './check.ts'
import { asRotating, fingerprint } from './fingerprint.ts'
import { type Answer, areSame, areSameValues, isAnswer, mergeAnswers } from './outcomes.ts'
import { CONFIRMATIONS } from './reasons.ts'
import {
  ANSWERS_TO_PROVE_ABSENCE,
  answerWithMembers,
  classifyMembers,
  countAnswers,
  MAX_ERROR_PROBABILITY,
  type Member,
  memberKeys,
  memberKeysOf,
  newRotation,
  presenceProbability,
  RECHECK_PROBABILITY,
  type ReceivedAnswer,
  type Rotation,
  withoutMembers,
} from './rotation.ts'
import { evaluateWithDifference } from './verdict.ts'

/** Answers to a check of an RRset that is known to rotate, where nothing is in doubt; else as many more, again and again. */
export const USUAL_SAMPLES = 8
/** Longer than `MOST_INCONCLUSIVE`: members that may be gone or new are waited for. */
const MAX_INCONCLUSIVE_MEMBERS = 8
/** Two hours: answers that hold none of the members that are recorded are waited for, as the copies in caches are few. */
const MAX_INCONCLUSIVE_REPLACED = 60
/** So long at most do the name servers of a zone take to give a change, all of them. */
const PROPAGATION_MS = 15 * 60_000

/** Decides by the members of an RRset that is given in parts. */
export function decideByMembers(samples: Samples): Step {
  const { sampling, sources, answers, nextRound } = samples
  // Members are counted after every eight answers.
  const isCounted =
    Math.floor(answers.length / USUAL_SAMPLES) > Math.floor((answers.length - sources.length) / USUAL_SAMPLES)
  if (nextRound && sampling.isByZone && !isCounted) return nextRound
  return applyRules(MEMBER_RULES, membersOf(samples))
}

/** What is known of the members with the answers of this check. */
type Members = {
  samples: Samples
  rotation: Rotation
  present: string[]
  candidates: string[]
  /** Some are not confirmed, or were not seen for longer than usual. */
  isOpen: boolean
  /** The answers are copies from caches: the same copy again proves nothing new. */
  isCached: boolean
  /** Recorded members, where no answer held any of them. */
  missed: string[]
  /** They would have shown by now. */
  areMissedGone: boolean
  /** Those that may be recorded; none while none is certain. */
  certain: string[]
  /** Those that are not there any more, in favour of the others. */
  replaced: string[]
  /** `replaced`, and what is doubted for so long that no copy can hold it. */
  outdated: string[]
  /** To be remembered: without those that are gone. */
  remaining: Rotation
}

/** Which members are certain. In the order in which they apply. */
export const MEMBER_RULES: readonly Rule<Members>[] = [
  {
    name: 'New members and our own network',
    rationale: 'If the network answers every query with its own address, that address must not become a member.',
    apply: ({ samples: { check }, rotation }) => {
      const before = check.recorded.rotation?.members ?? {}
      const isNew = Object.keys(rotation.members).some((key) => !Object.hasOwn(before, key))
      return isNew ? requireNetwork(check, 'report', true) : undefined
    },
  },
  {
    name: 'More answers',
    rationale: 'New members, and members not seen for a long time, need more answers than others.',
    apply: ({ samples: { check, answers, nextRound }, present, isOpen, isCached }) => {
      const isChanging = () => fingerprint(answerWithMembers(answers[0]!, present)) !== check.recorded.fingerprint
      return !isCached && (isOpen || isChanging()) ? nextRound : undefined
    },
  },
  {
    name: 'All members gone',
    rationale: 'A replaced RRset shows none of its members again, but a few answers can miss them all by chance.',
    apply: (members) => {
      const isOpen = members.missed.length > 0 && !members.areMissedGone
      return isOpen && inconclusiveChecks(members) < MAX_INCONCLUSIVE_REPLACED ? wait(members) : undefined
    },
  },
  {
    name: 'No certain member',
    rationale: 'One answer from one server does not prove a member.',
    apply: (members) => (members.certain.length === 0 ? wait(members) : undefined),
  },
  {
    name: 'Certain members',
    rationale: 'They are the records, if the change to them is also certain.',
    apply: (members) => applyRules(CHANGE_RULES, changeOf(members)),
  },
]

/** What the certain members would change. */
type Change = {
  members: Members
  /** All certain members as one answer. */
  union: Answer
  /** The RRset is given whole again. */
  isWhole: boolean
  /** Every answer held all of them. */
  isUniform: boolean
  outcome: Answer
  meaning: ReturnType<typeof evaluateWithDifference>
}

/** Whether a change of the members is certain. In the order in which they apply. */
export const CHANGE_RULES: readonly Rule<Change>[] = [
  {
    name: 'Recorded members',
    rationale: 'Nothing has changed.',
    apply: (change) => (isRecorded(change) || recordedOf(change).mustConclude ? reportChange(change) : undefined),
  },
  {
    name: 'Back again, or valid at first',
    rationale: 'This depends on members that were seen, not on absent ones.',
    apply: (change) => (isBackAfterFailure(change) || isValidAtFirst(change) ? reportChange(change) : undefined),
  },
  {
    name: 'New or changed rotation',
    rationale: 'A change that spreads between machines or caches looks like a rotation for some minutes.',
    apply: (change) => (isUnconfirmed(change) || isSpreading(change) ? wait(change.members) : undefined),
  },
  {
    name: 'Absent expected values',
    rationale: 'MISMATCH for absent values waits until a member in 5 % of the answers would have appeared.',
    apply: ({ members: { samples, rotation, outdated }, meaning }) => {
      const { recorded } = samples.check
      const isByAbsence = meaning.state === 'MISMATCH' && (!recorded.isExactMatch || meaning.extra.length === 0)
      const isAlarm = isByAbsence && recorded.state !== 'MISMATCH'
      return isAlarm && !isAbsenceProven(samples, rotation, outdated)
        ? inconclusive(samples.check, CONFIRMATIONS.absenceUnconfirmed, rotation)
        : undefined
    },
  },
  { name: 'Nothing in doubt', rationale: 'The change is reported.', apply: reportChange },
]

function wait({ samples, rotation }: Members): Step {
  return inconclusive(samples.check, CONFIRMATIONS.rotationUnconfirmed, rotation)
}

function recordedOf({ members }: Change): Recorded {
  return members.samples.check.recorded
}

function inconclusiveChecks({ samples }: Members): number {
  return samples.check.recorded.inconclusiveCount
}

// Members

function membersOf(samples: Samples): Members {
  const { check, sampling, sources, answers } = samples
  const { recorded } = check
  const rotation = rotationWith(samples)
  const { present, candidates, gone, doubtful } = classifyMembers(rotation, sources.length)
  const isHeard = areSame(answers) || answers.length >= USUAL_SAMPLES
  const isCached = !sampling.isByZone && isHeard && answers.some(({ rrset }) => rrset.ttl > 0)
  const missed = missedMembers(recorded, rotation, answers)
  const areMissedGone = presenceProbability(rotation, asOne(rotation, missed)) < MAX_ERROR_PROBABILITY
  const replaced = areMissedGone ? missed : isCached ? replacedMembers(check, rotation, answers) : []
  // Through caches a doubt lasts for as long as the copies: what was given whole until then is a change, not a rotation.
  const isOld = recorded.inconclusiveCount >= MAX_INCONCLUSIVE_MEMBERS && !sampling.isByZone && !recorded.isRotating
  const outdated = isOld ? [...doubtful, ...replaced] : replaced
  const left = outdated.length > 0 ? present.filter((key) => !outdated.includes(key)) : present
  // The CNAME records on the way to values that are not confirmed are no RRset.
  const holdsValue = (keys: readonly string[]) => answerWithMembers(answers[0]!, keys).rrset.values.length > 0
  const likely = holdsValue(left) ? left : isMajorityDue(check) ? [...left, ...candidates] : []
  return {
    samples,
    rotation,
    present,
    candidates,
    isOpen: candidates.length > 0 || doubtful.length > 0,
    isCached,
    missed,
    areMissedGone: areMissedGone,
    certain: holdsValue(likely) ? likely : [],
    replaced,
    outdated,
    remaining: withoutMembers(rotation, [...gone, ...outdated]),
  }
}

/** The members of a rotation that is recorded, where no answer holds any of them: they are gone together, or all of them return. */
function missedMembers(recorded: Recorded, rotation: Rotation, answers: readonly Answer[]): string[] {
  const { isRotating, recordType, owner, values } = recorded
  if (!isRotating) return []
  const known = memberKeysOf(recordType.name, owner, values ?? []).filter((key) => Object.hasOwn(rotation.members, key))
  const given = new Set(answers.flatMap(memberKeys))
  return known.some((key) => given.has(key)) ? [] : known
}

/** Members of which each answer held one until they were seen last. */
function asOne({ answers, total, members }: Rotation, keys: readonly string[]): Member {
  const last = keys.length === 0 ? total : Math.max(...keys.map((key) => members[key]!.last))
  return { seen: answers - (total - last), last, servers: [] }
}

/**
 * What was recorded beside something else is a change, not a rotation, where all answers are the same once no old copy can be
 * left, and no cache fetched the other one since. Which of both is left out.
 */
function replacedMembers({ recorded, now }: Check, rotation: Rotation, answers: readonly Answer[]): string[] {
  // What the zone's servers gave earlier, before a failure perhaps, may be parts of a rotation.
  if (rotation.firstCopiesUntil === undefined) return []
  const until = oldCopiesUntil(rotation)
  const { fingerprint: known, isRotating, recordType, owner, values } = recorded
  if (isRotating || known === null || now.at < until || !areSame(answers)) return []
  const given = memberKeys(answers[0]!)
  const others = Object.keys(rotation.members).filter((key) => !given.includes(key))
  if (others.some((key) => (rotation.members[key]!.copiesUntil ?? 0) >= until)) return []
  const before = memberKeysOf(recordType.name, owner, values ?? [])
  const isOneOfTwo = fingerprint(answers[0]!) === known || others.every((key) => before.includes(key))
  return isOneOfTwo ? others : []
}

/** A cache fetched what was recorded before another one fetched something else, or from a slow name server. */
function oldCopiesUntil({ since, firstCopiesUntil = since }: Rotation): number {
  return firstCopiesUntil + PROPAGATION_MS
}

// Changes

function changeOf(members: Members): Change {
  const { samples, candidates, certain, replaced } = members
  const { check, answers } = samples
  const union = answerWithMembers(answers[0]!, certain)
  const isUniform = areSame([union, ...answers])
  const isReplaced = replaced.length > 0 && candidates.every((key) => replaced.includes(key))
  const isWhole = isUniform && (isReplaced || hiddenMemberProbability(answers) < RECHECK_PROBABILITY)
  const outcome = isWhole ? union : asRotating(union)
  return { members, union, isWhole, isUniform, outcome, meaning: evaluateWithDifference(check, outcome) }
}

function reportChange({ members: { samples, remaining }, isWhole, outcome }: Change): Step {
  const { check, sampling } = samples
  const names = sampling.nameServers()
  return isWhole
    ? reportOutcome(check, outcome, CONFIRMATIONS.rotationEnded, names)
    : reportOutcome(check, outcome, CONFIRMATIONS.rotating, names, remaining)
}

function isRecorded(change: Change): boolean {
  const { isRotating, fingerprint: known } = recordedOf(change)
  // What was given whole until now and is given in parts is about to change, or begins to rotate.
  return fingerprint(change.outcome) === known && (isRotating || change.isWhole)
}

/** What was recorded before a failure is back when this check saw all of it. */
function isBackAfterFailure(change: Change): boolean {
  const { members, union, meaning } = change
  // What was given whole until now and is given in parts may be about to change.
  if (['VALID', 'MISMATCH'].includes(recordedOf(change).state) && !recordedOf(change).isRotating) return false
  const isSeen = areSame([union, mergeAnswers(members.samples.answers)])
  return members.candidates.length === 0 && isSeen && areSameValues(meaning.values, recordedOf(change).values)
}

function isValidAtFirst(change: Change): boolean {
  const isFirst = recordedOf(change).fingerprint === null
  return isFirst && change.members.candidates.length === 0 && change.meaning.state === 'VALID'
}

function isUnconfirmed(change: Change): boolean {
  const { samples, rotation, isOpen } = change.members
  const { fingerprint: known, inconclusiveCount: count } = recordedOf(change)
  if (known === null) return !isWellKnown(rotation) && !isMajorityDue(samples.check)
  return !isMajorityDue(samples.check) || (isOpen && count < MAX_INCONCLUSIVE_MEMBERS)
}

/** Every member came often enough for another one to have shown. */
function isWellKnown({ answers, members }: Rotation): boolean {
  return answers >= 20 && Object.values(members).every(({ seen }) => seen >= 4)
}

/** Caches that hold the old RRset beside the new one look like a rotation until the last old copy expires. */
function isSpreading(change: Change): boolean {
  const { samples, rotation } = change.members
  const { isRotating, fingerprint: known } = recordedOf(change)
  const isReplacement = change.isUniform && fingerprint(change.union) !== known
  const isThroughCaches = !samples.sampling.isByZone && !isRotating
  return isThroughCaches && !isReplacement && samples.check.now.at < oldCopiesUntil(rotation)
}

// What was seen, over all checks

/** Whether the RRset rotates, or earlier checks, which were inconclusive, saw other parts of it. */
export function mayRotate(recorded: Recorded, outcomes: readonly Outcome[], isByZone: boolean): boolean {
  if (recorded.isRotating) return true
  const answers = outcomes.filter(isAnswer)
  const rotation = usableRotation(recorded, isByZone)
  if (!rotation || answers.length === 0) return false
  const before = Object.keys(rotation.members)
  const known = answerWithMembers(answers[0]!, before)
  return before.length > 0 && !areSame([known, ...answers])
}

/** What caches gave before a failure says nothing of the time after it: too few of their answers are seen to correct it. */
function usableRotation(
  { isRotating, inconclusiveCount: count, rotation }: Recorded,
  isByZone: boolean,
): Rotation | null {
  return isByZone || isRotating || count > 0 ? rotation : null
}

/** What is known of the RRset's members with the answers of this check. `whole`: what every answer held before. */
export function rotationWith({ check, sampling, sources }: Samples, whole = wholeValues(check.recorded)): Rotation {
  const { recorded, now } = check
  const { isByZone } = sampling
  // In the order in which they were received: all answers of one server in a row would look like the end of the others' members.
  const rounds = Math.max(...sources.map(({ replies }) => replies.length))
  const sightings: ReceivedAnswer[] = []
  for (let round = 0; round < rounds; round++) {
    for (const { server, replies } of sources) {
      const outcome = replies[round]?.outcome
      if (!outcome || !isAnswer(outcome)) continue
      const sighting = { answer: outcome, server, at: now.at }
      sightings.push(isByZone ? sighting : { ...sighting, expiresAt: now.at + outcome.rrset.ttl * 1_000 })
    }
  }
  const { recordType, owner, expectedValues } = recorded
  const expected = memberKeysOf(recordType.name, owner, expectedValues)
  const remembered = usableRotation(recorded, isByZone)
  if (remembered) return countAnswers(remembered, sightings, expected)
  const rotation = countAnswers(newRotation(now.at, whole), sightings, expected)
  return isByZone
    ? rotation
    : { ...rotation, firstCopiesUntil: Math.max(...sightings.map(({ expiresAt = 0 }) => expiresAt)) }
}

/** What every answer held until now. For a CNAME the names on the way are members too, and are not recorded. */
function wholeValues({ fingerprint: known, isRotating, recordType, values }: Recorded): readonly string[] {
  return known === null || isRotating || recordType.name === 'CNAME' ? [] : (values ?? [])
}

/** The chance that an RRset with one more member would have shown only these. */
export function hiddenMemberProbability(answers: readonly Answer[]): number {
  const mean = answers.reduce((sum, answer) => sum + sizeOf(answer), 0) / answers.length
  return (1 - mean / (sizeOf(mergeAnswers(answers)) + 1)) ** answers.length
}

/** Where the names on the way count, each of them is a member. */
function sizeOf({ rrset, chain }: Answer): number {
  return rrset.values.length + (rrset.type === 'CNAME' ? chain.length : 0)
}

/** Through caches, answers that count are rare: so many prove that a value is absent, or so much time. */
const RESOLVER_ANSWERS_TO_PROVE_ABSENCE = 20
const MAX_WAIT_MS = 2 * 60 * 60_000

/** Whether each expected value that is missing was seen and is gone, or never came in enough answers. `outdated`: members that are gone. */
export function isAbsenceProven(
  { check, sampling }: Samples,
  rotation: Rotation,
  outdated: readonly string[] = [],
): boolean {
  if (check.recorded.mustConclude) return true
  const like = anyAnswer(check)
  const seen = Object.keys(rotation.members)
  if (like && seen.length > 0) {
    const { present, candidates } = classifyMembers(rotation, 1)
    const left = [...present, ...candidates].filter((key) => !outdated.includes(key))
    if (evaluateWithDifference(check, answerWithMembers(like, left)).state === 'VALID') return false
    if (evaluateWithDifference(check, answerWithMembers(like, seen)).missing.length === 0) return true
  }
  if (sampling.isByZone) return rotation.answers >= ANSWERS_TO_PROVE_ABSENCE
  const isLong = check.now.at - rotation.since >= MAX_WAIT_MS
  return rotation.answers >= RESOLVER_ANSWERS_TO_PROVE_ABSENCE || isLong
}

function anyAnswer({ observations }: Check): Answer | undefined {
  for (const one of observations) {
    const outcome =
      'reply' in one ? one.reply.outcome : 'nameServerReply' in one ? one.nameServerReply.outcome : undefined
    if (outcome && isAnswer(outcome) && one.query.purpose !== 'resolver_ns') return outcome
  }
}
