import type { Answer } from './record-type.ts'

/** `missing`: expected values that nothing observed meets. `extra`: observed values that nothing expected allows. */
export type Difference = { missing: string[]; extra: string[] }

/** How one type compares: each value is read once, since a hostile RRset can hold thousands, and then met pair by pair. */
export type Comparison<E, O> = {
  expected(text: string): E
  observed(text: string): O
  meets(expected: E, observed: O): boolean
}

/** In flexible mode every expected value must be met and nothing is extra; in exact mode both sides must cover each other. */
export function compareBy<E, O>(
  comparison: Comparison<E, O>,
  expected: readonly string[],
  observed: readonly string[],
  isExactMatch: boolean,
): Difference {
  const wanted = expected.map((text) => ({ text, read: comparison.expected(text) }))
  const found = observed.map((text) => ({ text, read: comparison.observed(text) }))
  const missing = wanted.filter(({ read }) => !found.some((other) => comparison.meets(read, other.read)))
  const extra = isExactMatch ? found.filter(({ read }) => !wanted.some((one) => comparison.meets(one.read, read))) : []
  return { missing: missing.map(({ text }) => text), extra: extra.map(({ text }) => text) }
}

/** As `compareBy`, for values that are equal when their canonical text is. */
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
  meets: (expected, observed) => expected === observed,
}

/** A value matches its expectation when there is no difference. */
export function isMatch({ missing, extra }: Difference): boolean {
  return missing.length === 0 && extra.length === 0
}

/** The whole RRset: what `observe` means for most types. */
export function observeAll({ rrset }: Answer): string[] {
  return sortedSet(rrset.values)
}

function sortedSet(values: readonly string[]): string[] {
  return [...new Set(values)].sort()
}

/** A value as it is written in a sentence. */
export function quoted(text: string): string {
  const shown = Array.from(text.slice(0, 122))
  return `"${shown.length > 60 ? `${shown.slice(0, 60).join('')}…` : text}"`
}
