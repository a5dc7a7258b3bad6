import type { Outcome } from '../dns/outcome.ts'
import { fingerprint } from './judge.ts'

/** Whether nothing was learned about the records: the question has to be asked elsewhere. */
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
    case 'endless_alias':
      return false
  }
}

export function isServfail(outcome: Outcome): outcome is Extract<Outcome, { kind: 'failure' }> {
  return outcome.kind === 'failure' && outcome.rcode === 'SERVFAIL'
}

export function isGood(outcome: Outcome): boolean {
  return !isFailure(outcome)
}

/** Whether two outcomes come to the same for every monitor. */
export function isSame(one: Outcome, other: Outcome): boolean {
  return fingerprint(one) === fingerprint(other)
}

export function areSame(outcomes: readonly Outcome[]): boolean {
  return new Set(outcomes.map(fingerprint)).size === 1
}

/** What tells most of several failures: that something answered, rather than that nothing did. */
export function mostTelling(failures: readonly Outcome[]): Outcome {
  for (const kind of ['lame', 'failure', 'malformed', 'referral'] as const) {
    const found = failures.find((outcome) => outcome.kind === kind)
    if (found) return found
  }
  return failures[0] ?? { kind: 'timeout' }
}

/**
 * What most of the good outcomes say. Of those that are said equally often the recorded one, then the one that `others`
 * say; undefined where even that leaves a choice.
 */
export function majority(
  outcomes: readonly Outcome[],
  recorded: number | null,
  others: readonly Outcome[] = [],
): Outcome | undefined {
  const good = outcomes.filter(isGood)
  const votes = (outcome: Outcome) => good.filter((other) => isSame(other, outcome)).length
  const most = Math.max(0, ...good.map(votes))
  const first = distinct(good.filter((outcome) => votes(outcome) === most))
  if (first.length < 2) return first[0]
  const kept = first.find((outcome) => fingerprint(outcome) === recorded)
  if (kept) return kept
  const backed = first.filter((outcome) => others.some((other) => isSame(other, outcome)))
  return backed.length === 1 ? backed[0] : undefined
}

export function distinct(outcomes: readonly Outcome[]): Outcome[] {
  return outcomes.filter((outcome, at) => outcomes.findIndex((other) => isSame(other, outcome)) === at)
}
