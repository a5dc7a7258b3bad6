import type { Outcome } from '../dns/outcome.ts'
import {
  anyAnswer,
  applyRules,
  type Check,
  inconclusive,
  isMajorityDue,
  type Recorded,
  type Rule,
  requireNetwork,
  type Samples,
  type Step,
  verdict,
} from './check-state.ts'
import { asRotating, fingerprint } from './fingerprint.ts'
import { type Answer, areSame, areSameValues, isAnswer, mergeAnswers } from './outcomes.ts'
import { CONFIRMATIONS } from './reasons.ts'
import {
  ANSWERS_TO_PROVE_ABSENCE,
  answerWithMembers,
  classifyMembers,
  countAnswers,
  hiddenMemberProbability,
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
import { evaluateAtFirst, evaluateWithDifference } from './verdict.ts'

/** Answers per check of a known rotation. In case of doubt, as many more several times. */
export const USUAL_SAMPLES = 8
/** More than `MAX_INCONCLUSIVE`, for members that may be gone or new, and for changes that may spread. */
const MAX_INCONCLUSIVE_MEMBERS = 8
const MAX_INCONCLUSIVE_SPREADING = 6
/** Two hours, for answers without any recorded member, because cached copies show few members. */
const MAX_INCONCLUSIVE_REPLACED = 60
/** All name servers of a zone have a change after this. */
const PROPAGATION_MS = 15 * 60_000

/** Decides by the members of a rotating RRset. */
export function decideByMembers(samples: Samples): Step {
  const { sampling, servers, answers, nextRound } = samples
  // Members are counted after every eight answers.
  const isCounted =
    Math.floor(answers.length / USUAL_SAMPLES) > Math.floor((answers.length - servers.length) / USUAL_SAMPLES)
  if (nextRound && sampling.isByZone && !isCounted) return nextRound
  return applyRules(MEMBER_RULES, membersOf(samples))
}

type Members = {
  samples: Samples
  rotation: Rotation
  present: string[]
  candidates: string[]
  /** Some members are unconfirmed, or were not seen for longer than usual. */
  isOpen: boolean
  /** The answers are cached copies, so repeating the query proves nothing. */
  isCached: boolean
  /** The recorded members, if no answer contained any of them. */
  missed: string[]
  /** They would have appeared by now. */
  areMissedGone: boolean
  /** The members to record. */
  certain: string[]
  /** Members that the others replaced. */
  replaced: string[]
  /** `replaced`, and members that are overdue for longer than any cached copy lives. */
  outdated: string[]
  /** The rotation without the members that are gone. */
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
      return isOpen && members.samples.check.recorded.inconclusiveCount < MAX_INCONCLUSIVE_REPLACED
        ? wait(members)
        : undefined
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
  /** The RRset no longer rotates. */
  isWhole: boolean
  /** Every answer contained all of them. */
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

// Members

function membersOf(samples: Samples): Members {
  const { check, sampling, servers, answers } = samples
  const { recorded } = check
  const rotation = rotationWith(samples)
  const classified = classifyMembers(rotation, servers.length)
  const seen = [...classified.present, ...classified.candidates]
  const isComplete = evaluateAtFirst(check, answerWithMembers(answers[0]!, seen))?.state === 'VALID'
  const { present, candidates, gone, overdue } = isComplete
    ? { ...classified, present: seen, candidates: [] }
    : classified
  const hasEnough = areSame(answers) || answers.length >= USUAL_SAMPLES
  const isCached = !sampling.isByZone && hasEnough && answers.some(({ rrset }) => rrset.ttl > 0)
  const missed = missedMembers(recorded, rotation, answers)
  const areMissedGone = presenceProbability(rotation, asOne(rotation, missed)) < MAX_ERROR_PROBABILITY
  const replaced = areMissedGone ? missed : isCached ? replacedMembers(check, rotation, answers) : []
  // After this time cached copies have expired, so a complete RRset with overdue members has changed and does not rotate.
  const isOld = recorded.inconclusiveCount >= MAX_INCONCLUSIVE_MEMBERS && !sampling.isByZone && !recorded.isRotating
  const outdated = isOld ? [...overdue, ...replaced] : replaced
  const current = outdated.length > 0 ? present.filter((key) => !outdated.includes(key)) : present
  // CNAME records of the chain without a confirmed first record are no RRset.
  const hasValue = (keys: readonly string[]) => answerWithMembers(answers[0]!, keys).rrset.values.length > 0
  const likely = hasValue(current) ? current : isMajorityDue(check) ? [...current, ...candidates] : []
  return {
    samples,
    rotation,
    present,
    candidates,
    isOpen: candidates.length > 0 || overdue.length > 0,
    isCached,
    missed,
    areMissedGone,
    certain: hasValue(likely) ? likely : [],
    replaced,
    outdated,
    remaining: withoutMembers(rotation, [...gone, ...outdated]),
  }
}

/** The members of a recorded rotation, if no answer contained any of them. */
function missedMembers(recorded: Recorded, rotation: Rotation, answers: readonly Answer[]): string[] {
  const { isRotating, recordType, owner, values } = recorded
  if (!isRotating) return []
  const known = memberKeysOf(recordType.name, owner, values ?? []).filter((key) => Object.hasOwn(rotation.members, key))
  const seen = new Set(answers.flatMap(memberKeys))
  return known.some((key) => seen.has(key)) ? [] : known
}

/** All these members as one that every answer contained until it was seen last. */
function asOne({ answers, total, members }: Rotation, keys: readonly string[]): Member {
  const last = keys.length === 0 ? total : Math.max(...keys.map((key) => members[key]!.last))
  return { seen: answers - (total - last), last, servers: [] }
}

/**
 * The members that were replaced. Old and new values together are a change and not a rotation, if all answers are equal after
 * the old cached copies expired, and no resolver has fetched the other value since.
 */
function replacedMembers({ recorded, now }: Check, rotation: Rotation, answers: readonly Answer[]): string[] {
  // Without a start time, earlier answers came from the zone's servers and may be parts of a rotation.
  if (rotation.firstCopiesUntil === undefined) return []
  const until = oldCopiesUntil(rotation)
  const { fingerprint: known, isRotating, recordType, owner, values } = recorded
  if (isRotating || known === null || now.at < until || !areSame(answers)) return []
  const present = memberKeys(answers[0]!)
  const others = Object.keys(rotation.members).filter((key) => !present.includes(key))
  if (others.some((key) => (rotation.members[key]!.copiesUntil ?? 0) >= until)) return []
  const before = memberKeysOf(recordType.name, owner, values ?? [])
  const isOneOfTwo = fingerprint(answers[0]!) === known || others.every((key) => before.includes(key))
  return isOneOfTwo ? others : []
}

/** A resolver may have fetched the old value just before the change, or from a slow name server. */
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
  if (isWhole) return verdict(check, outcome, CONFIRMATIONS.rotationEnded, names)
  return verdict(check, outcome, CONFIRMATIONS.rotating, names, remaining)
}

function isRecorded(change: Change): boolean {
  const { isRotating, fingerprint: known } = recordedOf(change)
  // A complete RRset that now arrives in parts is changing, or begins to rotate.
  return fingerprint(change.outcome) === known && (isRotating || change.isWhole)
}

/** This check saw all of the values that were recorded before a failure. */
function isBackAfterFailure(change: Change): boolean {
  const { members, union, meaning } = change
  // A complete RRset that now arrives in parts may be changing.
  if (['VALID', 'MISMATCH'].includes(recordedOf(change).state) && !recordedOf(change).isRotating) return false
  const isSeen = areSame([union, mergeAnswers(members.samples.answers)])
  return members.candidates.length === 0 && isSeen && areSameValues(meaning.values, recordedOf(change).values)
}

function isValidAtFirst(change: Change): boolean {
  const isFirst = recordedOf(change).fingerprint === null
  return isFirst && change.members.candidates.length === 0 && change.meaning.state === 'VALID'
}

/** New values beside those of a complete RRset are more often a change that spreads than a rotation that begins. */
function isUnconfirmed(change: Change): boolean {
  const { samples, rotation, isOpen } = change.members
  const { fingerprint, inconclusiveCount: count, isRotating } = samples.check.recorded
  if (fingerprint === null) return !isWellKnown(rotation) && !isMajorityDue(samples.check)
  return (
    !isMajorityDue(samples.check) ||
    (isOpen && count < MAX_INCONCLUSIVE_MEMBERS) ||
    (!isRotating && count < MAX_INCONCLUSIVE_SPREADING)
  )
}

/** Every member appeared so often that another one would have appeared too. */
function isWellKnown({ answers, members }: Rotation): boolean {
  return answers >= 20 && Object.values(members).every(({ seen }) => seen >= 4)
}

/** Until the last old cached copy expires, a change looks like a rotation. */
function isSpreading(change: Change): boolean {
  const { samples, rotation } = change.members
  const { isRotating, fingerprint: known } = recordedOf(change)
  const isReplacement = change.isUniform && fingerprint(change.union) !== known
  const isThroughCaches = !samples.sampling.isByZone && !isRotating
  return isThroughCaches && !isReplacement && samples.check.now.at < oldCopiesUntil(rotation)
}

// The rotation over all checks

/** Whether the RRset rotates, or earlier inconclusive checks saw other members of it. */
export function mayRotate(recorded: Recorded, outcomes: readonly Outcome[], isByZone: boolean): boolean {
  if (recorded.isRotating) return true
  const answers = outcomes.filter(isAnswer)
  const rotation = usableRotation(recorded, isByZone)
  if (!rotation || answers.length === 0) return false
  const before = Object.keys(rotation.members)
  const known = answerWithMembers(answers[0]!, before)
  return before.length > 0 && !areSame([known, ...answers])
}

/**
 * Cached answers from before a failure do not count after it: too few later answers would correct them. Nor do they count for the zone's own
 * servers, which an old copy in a cache, or one of another region, says nothing about.
 */
function usableRotation(recorded: Recorded, isByZone: boolean): Rotation | null {
  const { isRotating, inconclusiveCount: count, rotation } = recorded
  if (isRotating) return isByZone && rotation ? withoutMembers(rotation, onlyCopied(recorded, rotation)) : rotation
  if (isByZone) return rotation?.firstCopiesUntil === undefined ? rotation : null
  return count > 0 ? rotation : null
}

/** Members that only caches returned, while the zone's name servers could not be queried, and that are not recorded. */
function onlyCopied({ recordType, owner, values }: Recorded, { members }: Rotation): string[] {
  const known = memberKeysOf(recordType.name, owner, values ?? [])
  return Object.keys(members).filter((key) => members[key]!.isOnlyCopied && !known.includes(key))
}

/** The rotation with the answers of this check. `whole`: values that every answer contained before. */
export function rotationWith({ check, sampling, servers }: Samples, whole = wholeValues(check.recorded)): Rotation {
  const { recorded, now } = check
  const { isByZone } = sampling
  // Round by round: all answers of one server in a row would look as if the members of the others were gone.
  const rounds = Math.max(...servers.map(({ replies }) => replies.length))
  const received: ReceivedAnswer[] = []
  for (let round = 0; round < rounds; round++) {
    for (const { server, replies } of servers) {
      const outcome = replies[round]?.outcome
      if (!outcome || !isAnswer(outcome)) continue
      const answer = { answer: outcome, server, at: now.at }
      received.push(isByZone ? answer : { ...answer, expiresAt: now.at + outcome.rrset.ttl * 1_000 })
    }
  }
  const { recordType, owner, expectedValues } = recorded
  const expected = memberKeysOf(recordType.name, owner, expectedValues)
  const previous = usableRotation(recorded, isByZone)
  if (previous) return countAnswers(previous, received, expected)
  const rotation = countAnswers(newRotation(now.at, whole), received, expected)
  return isByZone
    ? rotation
    : { ...rotation, firstCopiesUntil: Math.max(...received.map(({ expiresAt = 0 }) => expiresAt)) }
}

/** The values that every answer contained until now. None for a CNAME: the members also include its chain, which is not recorded. */
function wholeValues({ fingerprint: known, isRotating, recordType, values }: Recorded): readonly string[] {
  return known === null || isRotating || recordType.name === 'CNAME' ? [] : (values ?? [])
}

/** Independent answers of resolvers are rare, so this many of them, or this much time, prove that a value is absent. */
const RESOLVER_ANSWERS_TO_PROVE_ABSENCE = 20
const MAX_WAIT_MS = 2 * 60 * 60_000

/** Whether each missing expected value was seen and is gone, or never appeared in enough answers. `outdated`: members that are gone. */
export function isAbsenceProven(
  { check, sampling }: Samples,
  rotation: Rotation,
  outdated: readonly string[] = [],
): boolean {
  if (check.recorded.mustConclude) return true
  const template = anyAnswer(check)
  const seen = Object.keys(rotation.members)
  if (template && seen.length > 0) {
    const { present, candidates } = classifyMembers(rotation, 1)
    const current = [...present, ...candidates].filter((key) => !outdated.includes(key))
    if (evaluateWithDifference(check, answerWithMembers(template, current)).state === 'VALID') return false
    if (evaluateWithDifference(check, answerWithMembers(template, seen)).missing.length === 0) return true
  }
  if (sampling.isByZone) return rotation.answers >= ANSWERS_TO_PROVE_ABSENCE
  const isLong = check.now.at - rotation.since >= MAX_WAIT_MS
  return rotation.answers >= RESOLVER_ANSWERS_TO_PROVE_ABSENCE || isLong
}
