import type { DnssecCause, UnknownReason, UnsignedReason } from '#contract/dnssec.ts'

/**
 * What a validator that trusts the DS records makes of one response. `secure`: every record has a valid signature until `expiresAt`
 * (UTC epoch milliseconds, of the signature that expires first). The DS records are taken as given: the chain above them is not
 * verified.
 */
export type DnssecVerdict =
  | { kind: 'secure'; expiresAt: number }
  | { kind: 'unsigned'; reason: UnsignedReason }
  | { kind: 'bogus'; cause: DnssecCause }
  | { kind: 'unknown'; reason: UnknownReason }

export type Secure = Extract<DnssecVerdict, { kind: 'secure' }>
export type NotSecure = Exclude<DnssecVerdict, Secure>

export const bogus = (cause: DnssecCause): NotSecure => ({ kind: 'bogus', cause })
export const unsigned = (reason: UnsignedReason): NotSecure => ({ kind: 'unsigned', reason })
export const unknown = (reason: UnknownReason): NotSecure => ({ kind: 'unknown', reason })
