import type { Outcome } from './outcome.ts'

/** The result of sending a query: a packet with its id from the queried server, or why there will be none. */
export type Received = { kind: 'packet'; packet: Buffer } | Extract<Outcome, { kind: 'malformed' | 'unreachable' }>

/**
 * Sends a query, writing a fresh random id into it, and calls `done` at most once. Returns how to give up, after which
 * `done` is not called; that returns the last packet that came with the id and is no response to the query, where there was one.
 * Knows no deadline. `mixesCase`: whether the letters of the name may be sent in mixed case.
 */
export type Send = (query: Buffer, done: (received: Received) => void, mixesCase?: boolean) => () => Buffer | undefined

/** ECONNREFUSED, ENETUNREACH, …: what the network or the operating system had to say. */
export function unreachable(error: Error): Received {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.message
  return { kind: 'unreachable', reason: code }
}
