export type LogoMark = 'added' | 'removed' | 'kept'

/** `parts`: where another value took this one's place, what differs between the two stands in the middle one. */
export type MarkedValue = { value: string; mark: LogoMark; parts?: Parts }
export type Parts = [before: string, differing: string, behind: string]

/** Below this a value is taken in at one glance. */
const LONG = 24

/**
 * The change of each value: removed ones first, then added ones, then unchanged ones. Undefined where one side is not known: a
 * first outcome has nothing before it, a timeout nothing after it.
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

/** What two long texts have in common at either end; undefined where they are short, or hardly alike. */
export function partsOf(one: string, other: string): [Parts, Parts] | undefined {
  if (one === other || Math.min(one.length, other.length) < LONG) return undefined
  const most = Math.min(one.length, other.length)
  let head = 0
  while (head < most && one[head] === other[head]) head++
  let tail = 0
  while (tail < most - head && one.at(-1 - tail) === other.at(-1 - tail)) tail++
  if (head + tail < most / 3) return undefined
  const cut = (text: string): Parts => [
    text.slice(0, head),
    text.slice(head, text.length - tail),
    text.slice(text.length - tail),
  ]
  return [cut(one), cut(other)]
}
