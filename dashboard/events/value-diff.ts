import { visible } from '#contract/visible-text.ts'

export type LogoMark = 'added' | 'removed' | 'kept'

/** `parts` is set if one value replaced another. */
export type MarkedValue = { value: string; mark: LogoMark; parts?: Parts }
export type Parts = [before: string, differing: string, after: string]

/** Shorter values need no highlighting. */
const MIN_LENGTH = 24

/**
 * Removed values, then added ones, then unchanged ones. Undefined if the current values are unknown, for example after a
 * timeout.
 */
export function diffOf(
  previous: readonly string[] | undefined,
  current: readonly string[] | undefined,
): MarkedValue[] | undefined {
  if (current === undefined) return undefined
  const before = new Set(previous ?? [])
  const now = new Set(current)
  const removed = [...before].filter((value) => !now.has(value))
  const added = [...now].filter((value) => !before.has(value))
  const pair = removed.length === 1 && added.length === 1 ? partsOf(removed[0]!, added[0]!) : undefined
  return [
    ...removed.map((value) => ({ value, mark: 'removed' as const, ...(pair ? { parts: pair[0] } : {}) })),
    ...added.map((value) => ({ value, mark: 'added' as const, ...(pair ? { parts: pair[1] } : {}) })),
    ...[...now].filter((value) => before.has(value)).map((value) => ({ value, mark: 'kept' as const })),
  ]
}

/** Splits two long values, as they are shown, at their common beginning and end; undefined if they are short or too different. */
export function partsOf(oneValue: string, otherValue: string): [Parts, Parts] | undefined {
  const [one, other] = [visible(oneValue), visible(otherValue)]
  if (one === other || Math.min(one.length, other.length) < MIN_LENGTH) return undefined
  const minLength = Math.min(one.length, other.length)
  let prefix = 0
  while (prefix < minLength && one[prefix] === other[prefix]) prefix++
  let suffix = 0
  while (suffix < minLength - prefix && one.at(-1 - suffix) === other.at(-1 - suffix)) suffix++
  if (prefix + suffix < minLength / 3) return undefined
  const cut = (text: string): Parts => [
    text.slice(0, prefix),
    text.slice(prefix, text.length - suffix),
    text.slice(text.length - suffix),
  ]
  return [cut(one), cut(other)]
}
