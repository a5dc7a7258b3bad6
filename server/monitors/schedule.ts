import { hash } from 'node:crypto'

export const SLOTS = 2 ** 52

/**
 * A monitor's fixed place within every interval, 0..2^52-1, spread evenly whatever the ids look like. Up to four monitors
 * made one after the other lie side by side, on one page of `due_checks`: so making many writes fewer pages. Of a million
 * monitors two have the same place with a probability of 1 to 1,000; anyone who inserts them sees to that.
 */
export function slotOf(monitorId: string): number {
  const last = monitorId.charCodeAt(monitorId.length - 1)
  const shared = `${monitorId.slice(0, -1)}${last >> 2}`
  return Number(hash('sha1', shared, 'buffer').readBigUInt64BE(0) >> 19n) * 128 + (last % 128)
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
