import type { Answer } from './record-type.ts'

/** `missing`: expected values that match no observed value. `extra`: observed values that match no expected value. */
export type Difference = { missing: string[]; extra: string[] }

/** How a type compares values. Each value is parsed once, because a hostile RRset can have thousands. */
export type Comparison<E, O> = {
  expected(text: string): E
  observed(text: string): O
  matches(expected: E, observed: O): boolean
}

/** In exact mode every value must match one of the other side. In flexible mode only the expected values must match. */
export function compareBy<E, O>(
  comparison: Comparison<E, O>,
  expected: readonly string[],
  observed: readonly string[],
  isExactMatch: boolean,
): Difference {
  const expectedValues = expected.map((text) => comparison.expected(text))
  const observedValues = observed.map((text) => comparison.observed(text))
  const isMet = (value: E) => observedValues.some((other) => comparison.matches(value, other))
  const isAllowed = (value: O) => expectedValues.some((other) => comparison.matches(other, value))
  return {
    missing: expected.filter((_, index) => !isMet(expectedValues[index]!)),
    extra: isExactMatch ? observed.filter((_, index) => !isAllowed(observedValues[index]!)) : [],
  }
}

/** Compares values by their canonical text. */
export function compareTexts(
  expected: readonly string[],
  observed: readonly string[],
  isExactMatch: boolean,
): Difference {
  return compareBy(TEXTS, expected, observed, isExactMatch)
}

const TEXTS: Comparison<string, string> = {
  expected: (text) => text,
  observed: (text) => text,
  matches: (expected, observed) => expected === observed,
}

export function isMatch({ missing, extra }: Difference): boolean {
  return missing.length === 0 && extra.length === 0
}

/** The whole RRset, sorted. */
export function observeAll({ rrset }: Answer): string[] {
  return [...new Set(rrset.values)].sort()
}

/** A value in quotes, shortened for a message. */
export function quoted(text: string): string {
  const shown = Array.from(text.slice(0, 122))
  return `"${shown.length > 60 ? `${shown.slice(0, 60).join('')}…` : text}"`
}
