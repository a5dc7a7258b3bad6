import { type Exchange, firstOfKinds, isUsable, type Outcome } from '../dns/outcome.ts'
import { fingerprint } from './fingerprint.ts'

export type Answer = Extract<Outcome, { kind: 'answer' }>

export function isAnswer(outcome: Outcome): outcome is Answer {
  return outcome.kind === 'answer'
}

export function isFailure(outcome: Outcome): boolean {
  return !isUsable(outcome)
}

export function isServfail(outcome: Outcome): boolean {
  return outcome.kind === 'failure' && outcome.rcode === 'SERVFAIL'
}

/** Whether two outcomes are equivalent for every monitor. */
export function isSame(one: Outcome, other: Outcome): boolean {
  if (one === other) return true
  if (!isAnswer(one) || !isAnswer(other) || one.rrset.type === 'CNAME') return fingerprint(one) === fingerprint(other)
  const { type, values } = one.rrset
  return other.rrset.type === type && areSameValues(values, other.rrset.values)
}

/** Both sorted, without duplicates. */
export function areSameValues(one: readonly string[], other: readonly string[] | null): boolean {
  return one.length === other?.length && one.every((value, index) => value === other[index])
}

export function areSame(outcomes: readonly Outcome[]): boolean {
  return outcomes.every((outcome) => isSame(outcome, outcomes[0]!))
}

/** A failure that a server reported, rather than one without a response. */
export function mostInformative(failures: readonly Outcome[]): Outcome {
  const reported = firstOfKinds(failures, ['lame', 'failure', 'malformed', 'referral'])
  return reported ?? failures[0] ?? { kind: 'timeout' }
}

/**
 * The usable outcome with the most votes. On a tie the recorded one, then the one that `others` support; undefined if there is
 * still a tie.
 */
export function majority(
  outcomes: readonly Outcome[],
  recorded: number | null,
  others: readonly Outcome[] = [],
): Outcome | undefined {
  const usable = outcomes.filter(isUsable)
  const votes = (outcome: Outcome) => usable.filter((other) => isSame(other, outcome)).length
  const maxVotes = Math.max(0, ...usable.map(votes))
  const winners = distinct(usable.filter((outcome) => votes(outcome) === maxVotes))
  if (winners.length < 2) return winners[0]
  const unchanged = winners.find((outcome) => fingerprint(outcome) === recorded)
  if (unchanged) return unchanged
  const supported = winners.filter((outcome) => others.some((other) => isSame(other, outcome)))
  return supported.length === 1 ? supported[0] : undefined
}

function distinct(outcomes: readonly Outcome[]): Outcome[] {
  return outcomes.filter((outcome, index) => outcomes.findIndex((other) => isSame(other, outcome)) === index)
}

/** One answer with the values and CNAME records of all answers to a query. */
export function mergeAnswers(answers: readonly Answer[]): Answer {
  const first = answers[0]!
  if (areSame(answers)) return first
  const values = [...new Set(answers.flatMap(({ rrset }) => rrset.values))].sort()
  const ttl = Math.min(...answers.map(({ rrset }) => rrset.ttl))
  const links = new Map(answers.flatMap(({ chain }) => chain.map((link) => [`${link.name} ${link.target}`, link])))
  const chain = [...links.keys()].sort().map((key) => links.get(key)!)
  return { ...first, rrset: { ...first.rrset, values, ttl }, chain }
}

/** The address of the server that gave the reply; empty if there was none. */
export function serverOf({ evidence }: { evidence: readonly Exchange[] }): string {
  return evidence.at(-1)?.server ?? ''
}
