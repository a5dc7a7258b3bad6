import { hash } from 'node:crypto'

export const SLOTS = 2 ** 52

/**
 * A monitor's fixed place within every interval, 0..2^52-1, spread evenly whatever the ids look like. There are so many that
 * of a million monitors two have the same place with a probability of 1 to 10,000; whoever inserts them sees to that.
 */
export function slotOf(monitorId: string): number {
  return Number(hash('sha1', monitorId, 'buffer').readBigUInt64BE(0) >> 12n)
}

/**
 * The first instant after `now` at which a monitor of this slot comes round. It depends on slot and interval alone, so
 * monitors made together do not come due together, and a check that ran late does not shift those after it.
 */
export function nextDueAt(now: number, { slot, frequency }: { slot: number; frequency: number }): number {
  const intervalMs = frequency * 60_000
  const place = Math.floor((slot / SLOTS) * intervalMs)
  const intervals = Math.floor((now - place) / intervalMs) + 1
  return intervals * intervalMs + place
}

/**
 * When a monitor is due that gets another interval: never later than it was. One that is being checked is checked again,
 * because that check would return to the old interval.
 */
export function replan(
  { due_at, claimed_by }: { due_at: number | null; claimed_by: number | null },
  place: { slot: number; frequency: number },
  now: number,
): number {
  if (claimed_by !== null) return now
  return Math.min(due_at ?? now, nextDueAt(now, place))
}
