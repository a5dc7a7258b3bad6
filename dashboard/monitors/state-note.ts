import type { MonitorResponse } from '#contract/monitors.ts'

/** A check, its confirmation and the refresh of the page take up to this long after the interval. */
const GRACE_MS = 3 * 60_000

type Facts = Pick<MonitorResponse, 'is_active' | 'last_checked'> & Partial<Pick<MonitorResponse, 'frequency' | 'wait'>>

/** Whether the last check is older than the interval allows, so that the state may be out of date. Needs `frequency`. */
export const isCheckLate = ({ is_active, last_checked, frequency }: Facts, now: number): boolean =>
  is_active &&
  last_checked !== null &&
  frequency !== undefined &&
  now - Date.parse(last_checked) > frequency * 60_000 + GRACE_MS

/** Why the color of the state says too much; undefined if it does not. Needs `frequency` and `wait`. */
export function stateNote(monitor: Facts, now: number): string | undefined {
  if (monitor.wait?.state === 'waiting') return 'Zonewatch waits for this record.'
  return isCheckLate(monitor, now) ? 'The next check is late, so the state may be out of date.' : undefined
}
