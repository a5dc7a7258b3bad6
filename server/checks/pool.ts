import type { Outcome } from '../dns/outcome.ts'

/** A pool that is only partly known is told by this many of its members. */
export const MOST_MEMBERS = 64

/**
 * The outcome as it is to be recorded beside `recorded`, what was known before. Of a pool that is too large to be seen whole,
 * members that were not seen this time are kept, so that a change of luck is no change.
 */
export function withRecorded(outcome: Outcome, recorded: readonly string[] | null): Outcome {
  if (outcome.kind !== 'answer' || outcome.pool !== 'part' || recorded === null || recorded.length === 0) return outcome
  const seen = new Set(outcome.rrset.values)
  const all = [...new Set([...recorded, ...seen])].sort()
  const isApart = !recorded.some((value) => seen.has(value))
  if (all.length > MOST_MEMBERS) return withValues(outcome, recorded)
  return isApart ? outcome : withValues(outcome, all)
}

function withValues(outcome: Extract<Outcome, { kind: 'answer' }>, values: readonly string[]): Outcome {
  return { ...outcome, rrset: { ...outcome.rrset, values: [...values] } }
}
