import type { MonitorState, Resolution } from './monitors.ts'

/** The labels of states on pages, in alerts and in mails. */
export const STATE_LABELS: Record<MonitorState, string> = {
  VALID: 'Valid',
  MISMATCH: 'Mismatch',
  NOT_FOUND: 'Not found',
  NO_DATA: 'No data',
  INVALID: 'Lookup failed',
  TIMEOUT: 'Timeout',
  BAD_SETUP: 'Misconfigured',
  UNSET: 'No result yet',
}

/** Whose answers a monitor is about: the labels of `resolution`. */
export const RESOLUTION_LABELS: Record<Resolution, string> = {
  auto: 'Automatic',
  public: 'The public DNS',
  resolvers: 'The resolvers of this server',
}

/** The name of a record as it is shown, without the trailing dot; the root is `.`. */
export function recordName({ subdomain, domain }: { subdomain: string; domain: string }): string {
  if (subdomain === '') return domain
  return domain === '.' ? subdomain : `${subdomain}.${domain}`
}

/**
 * The form of a text for a count. Both forms are complete: `plural(2, '1 check is late.', (n) => `${n} checks are late.`)`. `other`
 * gets the number with separators.
 */
export const plural = (count: number, one: string, other: (count: string) => string): string =>
  count === 1 ? one : other(count.toLocaleString('en'))

export const monitorsText = (count: number): string => plural(count, '1 monitor', (number) => `${number} monitors`)

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const

/** "2 d 4 h", "35 min": the two largest units. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  const at = UNITS.findIndex(([, size]) => seconds >= size)
  if (at === -1) return '0 s'
  const [name, size] = UNITS[at]!
  const next = UNITS[at + 1]
  const rest = next ? Math.floor((seconds % size) / next[1]) : 0
  const first = `${Math.floor(seconds / size)} ${name}`
  return next && rest > 0 ? `${first} ${rest} ${next[0]}` : first
}
