import { hash } from 'node:crypto'

export const SLOTS = 2 ** 52

/**
 * A monitor's fixed position in every interval, 0..2^52-1, spread evenly whatever the ids look like. Up to four monitors created
 * in a row get adjacent slots, on one page of `due_checks`: a bulk insert then writes fewer pages. Of a million monitors two have
 * the same slot with a probability of 1 to 1,000; `insertDueChecks` resolves that.
 */
export function slotOf(monitorId: string): number {
  const last = monitorId.charCodeAt(monitorId.length - 1)
  const shared = `${monitorId.slice(0, -1)}${last >> 2}`
  return Number(hash('sha1', shared, 'buffer').readBigUInt64BE(0) >> 19n) * 128 + (last % 128)
}

/**
 * The first instant after `now` at which a monitor of this slot is due. It depends on slot and interval alone: monitors created
 * together are not due together, and a late check does not delay the checks after it.
 */
export function nextDueAt(now: number, { slot, frequency }: { slot: number; frequency: number }): number {
  const intervalMs = frequency * 60_000
  const offset = Math.floor((slot / SLOTS) * intervalMs)
  const intervals = Math.floor((now - offset) / intervalMs) + 1
  return intervals * intervalMs + offset
}

/** The last instant until `at` at which a monitor of this slot was due. */
export const lastDueAt = (at: number, schedule: { slot: number; frequency: number }): number =>
  nextDueAt(at, schedule) - schedule.frequency * 60_000

/** How many times a monitor of this slot was due after `from`, until `until` (inclusive). */
export function countDue(from: number, until: number, schedule: { slot: number; frequency: number }): number {
  const intervals = (lastDueAt(until, schedule) - lastDueAt(from, schedule)) / (schedule.frequency * 60_000)
  return Math.max(0, intervals)
}
