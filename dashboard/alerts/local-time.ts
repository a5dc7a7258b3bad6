/** The value of a `datetime-local` input, in the user's time zone. */
export function localOf(instant: string | number): string {
  const date = new Date(instant)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** What such an input holds as an instant; what is no time as it is, so that the server says so. */
export function fromLocalInput(local: string): string {
  const date = new Date(local)
  return Number.isNaN(date.getTime()) ? local : date.toISOString()
}

export const localTimeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

const HOUR_MS = 60 * 60_000

/** The next full hour, and this many hours later. */
export function nextHours(hours: number): { from: string; to: string } {
  const from = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS
  return { from: localOf(from), to: localOf(from + hours * HOUR_MS) }
}
