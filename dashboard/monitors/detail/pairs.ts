import type { ValueDifference } from '#contract/dashboard.ts'
import type { MonitorState } from '#contract/monitors.ts'

/** One row of expected and current values. `allowed`: not expected, but allowed in flexible mode. */
export type ValuePair = { expected: string[]; current: string[]; mark: 'met' | 'missing' | 'extra' | 'allowed' }

/**
 * Expected next to current values, differences first. The server decides what is missing and extra. The others are paired here
 * by equal text or by common words.
 */
export function pairValues(
  expected: readonly string[],
  current: readonly string[],
  { missing, extra }: Pick<ValueDifference, 'missing' | 'extra'>,
): ValuePair[] {
  const met = expected.filter((value) => !missing.includes(value))
  const unmatched = current.filter((value) => !extra.includes(value))
  const pairs: ValuePair[] = []
  const unpaired: string[] = []
  for (const value of met) {
    const index = bestMatch(value, unmatched)
    if (index === -1) unpaired.push(value)
    else pairs.push({ expected: [value], current: unmatched.splice(index, 1), mark: 'met' })
  }
  // An address block, or a name later in a CNAME chain: only the server knows which values match it.
  if (unpaired.length > 0) pairs.push({ expected: unpaired, current: unmatched.splice(0), mark: 'met' })
  return [
    ...missing.map((value): ValuePair => ({ expected: [value], current: [], mark: 'missing' })),
    ...extra.map((value): ValuePair => ({ expected: [], current: [value], mark: 'extra' })),
    ...pairs,
    ...unmatched.map((value): ValuePair => ({ expected: [], current: [value], mark: 'allowed' })),
  ]
}

function bestMatch(value: string, unmatched: readonly string[]): number {
  const equal = unmatched.indexOf(value)
  if (equal !== -1) return equal
  const words = wordsOf(value)
  return unmatched.findIndex((other) => {
    const found = wordsOf(other)
    return words.every((word) => found.includes(word))
  })
}

const wordsOf = (value: string): string[] =>
  value
    .toLowerCase()
    .split(/[\s;"]+/)
    .filter((word) => word !== '')

/** Whether the current values are from before the failure, because failed checks return no values. */
export const hasStaleValues = (state: MonitorState): boolean =>
  state === 'TIMEOUT' || state === 'INVALID' || state === 'BAD_SETUP'
