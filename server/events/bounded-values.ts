/** All values of an event together, as JSON. */
export const MOST_VALUE_OCTETS = 64 * 1024
/** No value is cut to less than this: where that is not enough, values are left out at the end of their list. */
const LEAST_CUT = 256
const ELLIPSIS = '…'

export type Values = { previous: string[] | null; current: string[] | null }

/**
 * The values found before and now, so that they and the expected ones take at most `MOST_VALUE_OCTETS` of JSON. The longest
 * are cut first, to one length, and end with an ellipsis. `isTruncated`: something was cut or left out. Pure.
 */
export function boundedValues(
  { previous, current }: Values,
  expectedOctets: number,
): Values & { isTruncated: boolean } {
  const available = Math.max(0, MOST_VALUE_OCTETS - expectedOctets)
  const sizes = [...(previous ?? []), ...(current ?? [])].map(octetsOf)
  const brackets = 4
  if (sum(sizes) + brackets <= available) return { previous, current, isTruncated: false }
  const most = longestFor(sizes, available - brackets)
  const cut = (values: string[] | null) =>
    values?.map((value) => (octetsOf(value) <= most ? value : cutTo(value, most)))
  let left = available - brackets
  const fitting = (values: string[] | undefined): string[] | null => {
    if (!values) return null
    const kept: string[] = []
    for (const value of values) {
      if (octetsOf(value) > left) break
      left -= octetsOf(value)
      kept.push(value)
    }
    return kept
  }
  // What is found now matters more.
  const kept = fitting(cut(current))
  return { previous: fitting(cut(previous)), current: kept, isTruncated: true }
}

/** As JSON, with the comma that follows. */
const octetsOf = (value: string) => Buffer.byteLength(JSON.stringify(value)) + 1

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)

/** The length to which the longest are cut so that all fit. */
function longestFor(sizes: readonly number[], available: number): number {
  let left = available
  const ascending = sizes.toSorted((one, other) => one - other)
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index))
    if (size > share) return Math.max(share, LEAST_CUT)
    left -= size
  }
  return Number.POSITIVE_INFINITY
}

/** Cut between characters, so that its JSON has at most so many octets. */
function cutTo(value: string, octets: number): string {
  const within = (length: number) =>
    value
      .slice(0, length)
      .toWellFormed()
      .replace(/\ufffd$/, '') + ELLIPSIS
  let [fits, tooLong] = [0, value.length]
  while (tooLong - fits > 1) {
    const middle = Math.floor((fits + tooLong) / 2)
    if (octetsOf(within(middle)) <= octets) fits = middle
    else tooLong = middle
  }
  return within(fits)
}
