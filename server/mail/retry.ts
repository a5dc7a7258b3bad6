const MINUTE_MS = 60_000

/** After the first try, the second and so on: two and a half days in all, as mail servers do it (RFC 5321 section 4.5.4.1). */
const DELAYS_MS = [1, 5, 15, 60, 240, 480, 960, 1_440].map((minutes) => minutes * MINUTE_MS)

/** When to try again after `attempts` tries that were put off; null when it is enough. */
export function nextTryAt(attempts: number, now: number): number | null {
  const delay = DELAYS_MS[attempts - 1]
  return delay === undefined ? null : now + delay
}
