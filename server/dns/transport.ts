import type { Outcome } from './outcome.ts'

/** A packet with the query's id from the queried server, or why there will be none. */
/** Some servers send up to 4,096 octets, whatever a query offers. What is larger is read over TCP: RFC 6891 section 6.2.3. */
export const MAX_UDP_OCTETS = 4_096

export type Received = { kind: 'packet'; packet: Buffer } | Extract<Outcome, { kind: 'malformed' | 'unreachable' }>

/**
 * Writes a random id into the query, sends it, and calls `done` at most once. Has no timeout. Returns a function that cancels
 * it: `done` is then not called, and the function returns the last packet that had the id but did not match the query, if any.
 * `mixesCase`: whether the name may be sent in mixed case.
 */
export type Send = (query: Buffer, done: (received: Received) => void, mixesCase?: boolean) => () => Buffer | undefined

/** `reason`: the error code of the network or the operating system, such as ECONNREFUSED. */
export function unreachable(error: Error): Received {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.message
  return { kind: 'unreachable', reason: code }
}
