import type { Evidence, Outcome } from '../dns/outcome.ts'
import { fingerprint } from './fingerprint.ts'

export type Answer = Extract<Outcome, { kind: 'answer' }>

export function isAnswer(outcome: Outcome): outcome is Answer {
  return outcome.kind === 'answer'
}

/** Whether nothing was learned about the records: another server has to be asked. */
export function isFailure(outcome: Outcome): boolean {
  switch (outcome.kind) {
    case 'timeout':
    case 'unreachable':
    case 'failure':
    case 'malformed':
    case 'referral':
    case 'lame':
      return true
    case 'answer':
    case 'nodata':
    case 'nxdomain':
    case 'cname_loop':
      return false
  }
}

export function isServfail(outcome: Outcome): boolean {
  return outcome.kind === 'failure' && outcome.rcode === 'SERVFAIL'
}

export function isUsable(outcome: Outcome): boolean {
  return !isFailure(outcome)
}

/** Whether two outcomes mean the same for every monitor. */
export function isSame(one: Outcome, other: Outcome): boolean {
  if (one === other) return true
  if (!isAnswer(one) || !isAnswer(other) || one.rrset.type === 'CNAME') return fingerprint(one) === fingerprint(other)
  const { type, values } = one.rrset
  return other.rrset.type === type && areSameValues(values, other.rrset.values)
}

/** Both sorted, without duplicates. */
export function areSameValues(one: readonly string[], other: readonly string[] | null): boolean {
  return one.length === other?.length && one.every((value, at) => value === other[at])
}

export function areSame(outcomes: readonly Outcome[]): boolean {
  return outcomes.every((outcome) => isSame(outcome, outcomes[0]!))
}

/** The failure that says most: that a server answered, rather than that none did. */
export function mostInformative(failures: readonly Outcome[]): Outcome {
  for (const kind of ['lame', 'failure', 'malformed', 'referral'] as const) {
    const found = failures.find((outcome) => outcome.kind === kind)
    if (found) return found
  }
  return failures[0] ?? { kind: 'timeout' }
}

/**
 * The outcome that most of the good ones agree on. On a tie the recorded one, then the one that `others` support; undefined
 * where even that leaves a choice.
 */
export function majority(
  outcomes: readonly Outcome[],
  recorded: number | null,
  others: readonly Outcome[] = [],
): Outcome | undefined {
  const good = outcomes.filter(isUsable)
  const votes = (outcome: Outcome) => good.filter((other) => isSame(other, outcome)).length
  const most = Math.max(0, ...good.map(votes))
  const first = distinct(good.filter((outcome) => votes(outcome) === most))
  if (first.length < 2) return first[0]
  const kept = first.find((outcome) => fingerprint(outcome) === recorded)
  if (kept) return kept
  const supported = first.filter((outcome) => others.some((other) => isSame(other, outcome)))
  return supported.length === 1 ? supported[0] : undefined
}

export function distinct(outcomes: readonly Outcome[]): Outcome[] {
  return outcomes.filter((outcome, at) => outcomes.findIndex((other) => isSame(other, outcome)) === at)
}

/** All values of several answers to one query, and all CNAME records on the way to them. */
export function mergeAnswers(answers: readonly Answer[]): Answer {
  const first = answers[0]!
  if (areSame(answers)) return first
  const values = [...new Set(answers.flatMap(({ rrset }) => rrset.values))].sort()
  const ttl = Math.min(...answers.map(({ rrset }) => rrset.ttl))
  const links = new Map(answers.flatMap(({ chain }) => chain.map((link) => [`${link.name} ${link.target}`, link])))
  const chain = [...links.keys()].sort().map((key) => links.get(key)!)
  return { ...first, rrset: { ...first.rrset, values, ttl }, chain }
}

/** The server that gave the reply, as text; empty where there was none. */
export function serverOf({ evidence }: { evidence: readonly Evidence[] }): string {
  return evidence.at(-1)?.server ?? ''
}
