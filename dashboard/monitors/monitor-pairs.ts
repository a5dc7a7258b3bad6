import type { ValueDifference } from '#contract/dashboard.ts'
import type { MonitorState } from '#contract/monitors.ts'

/** One line of expected beside current. `allowed`: there, not expected, and not forbidden in flexible mode. */
export type Pair = { expected: string[]; current: string[]; mark: 'met' | 'missing' | 'extra' | 'allowed' }

/**
 * What is expected beside what is there, troubles first. The server's matcher said what is missing and what is extra; here
 * the rest is only put side by side, by equal text or by the words that both have.
 */
export function pairsOf(
  expected: readonly string[],
  current: readonly string[],
  { missing, extra }: ValueDifference,
): Pair[] {
  const met = expected.filter((value) => !missing.includes(value))
  const left = current.filter((value) => !extra.includes(value))
  const pairs: Pair[] = []
  const unpaired: string[] = []
  for (const value of met) {
    const at = bestFor(value, left)
    if (at === -1) unpaired.push(value)
    else pairs.push({ expected: [value], current: left.splice(at, 1), mark: 'met' })
  }
  // A block of addresses, or a name further down an alias chain: which values meet it is the matcher's knowledge.
  if (unpaired.length > 0) pairs.push({ expected: unpaired, current: left.splice(0), mark: 'met' })
  return [
    ...missing.map((value): Pair => ({ expected: [value], current: [], mark: 'missing' })),
    ...extra.map((value): Pair => ({ expected: [], current: [value], mark: 'extra' })),
    ...pairs,
    ...left.map((value): Pair => ({ expected: [], current: [value], mark: 'allowed' })),
  ]
}

function bestFor(value: string, left: readonly string[]): number {
  const equal = left.indexOf(value)
  if (equal !== -1) return equal
  const words = wordsOf(value)
  return left.findIndex((other) => {
    const found = wordsOf(other)
    return words.every((word) => found.includes(word))
  })
}

const wordsOf = (value: string): string[] =>
  value
    .toLowerCase()
    .split(/[\s;"]+/)
    .filter((word) => word !== '')

/** Whether the values that stand there are from before the trouble: nothing could be learned since. */
export const isFromBefore = (state: MonitorState): boolean =>
  state === 'TIMEOUT' || state === 'INVALID' || state === 'BAD_SETUP'
