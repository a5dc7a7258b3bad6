import { SLOTS } from './slots.ts'

/**
 * Regular checks run in rounds. A row of `due_rounds` is a range of slots of one interval. Its n-th round checks the monitors in it once,
 * each at its slot, from `roundStart(n)`. Only that row is leased and written. A monitor in rounds has no `due_at`; `since_round` is the
 * first round that counts for it. So its last check and the number of checks in its state follow from the last finished round. A
 * monitor whose check changed something, or is to be repeated sooner, leaves the rounds for the queue of rows until it is regular again.
 */
export type RoundRange = { frequency: number; first_slot: number }

/** Short enough that `last_checked` is current, and that little is repeated after a crash. */
const LONGEST_RANGE_MS = 8_000

/** The range that contains a slot, unless it has been split. The first part of a split range keeps its first slot. */
export function rangeOf({ slot, frequency }: { slot: number; frequency: number }): {
  first_slot: number
  until_slot: number
} {
  const ranges = 2 ** Math.ceil(Math.log2((frequency * 60_000) / LONGEST_RANGE_MS))
  const size = SLOTS / ranges
  const first_slot = Math.floor(slot / size) * size
  return { first_slot, until_slot: first_slot + size }
}

/** When the range's n-th round begins, in UTC epoch milliseconds. Rounds are counted from the epoch. */
export function roundStart({ frequency, first_slot }: RoundRange, round: number): number {
  const intervalMs = frequency * 60_000
  return round * intervalMs + Math.floor((first_slot / SLOTS) * intervalMs)
}

/** The last round of the range that has begun. */
export const roundAt = (range: RoundRange, now: number): number =>
  Math.floor((now - roundStart(range, 0)) / (range.frequency * 60_000))

/** Names the range that contains a slot, also after it was split. */
export const rangeIdOf = (monitor: { slot: number; frequency: number }): string =>
  `${monitor.frequency}/${rangeOf(monitor).first_slot}`
