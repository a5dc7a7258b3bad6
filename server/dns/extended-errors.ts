import type { Reply } from './outcome.ts'

// What a server says of its own answer. RFC 8914 section 4.
const STALE = new Set([3, 19])
const FILTERED = new Set([4, 15, 16, 17])
const DNSSEC = new Set([1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 25, 27])

/** The answer is out of date: the server could not ask for a new one. RFC 8767. */
export function isStale(reply: Reply): boolean {
  return says(reply, STALE)
}

/** The answer is not the zone's: the server forges, blocks, censors or filters it. */
export function isFiltered(reply: Reply): boolean {
  return says(reply, FILTERED)
}

/** DNSSEC validation is what failed. */
export function isDnssecFailure(reply: Reply): boolean {
  return says(reply, DNSSEC)
}

function says({ evidence }: Reply, codes: ReadonlySet<number>): boolean {
  return evidence.at(-1)?.ede.some(({ code }) => codes.has(code)) ?? false
}
