import type { MonitorRecordType } from '#contract/record-types.ts'

/** The record types that Zonewatch can query; SPF is a kind of TXT. */
export type QuestionType = Exclude<MonitorRecordType, 'SPF'>

/** `name`: A-labels in lower case, without the trailing dot; the root is the empty string. */
export type Question = { name: string; type: QuestionType }

/** `values`: rdata in canonical text (see `rdata.ts`), sorted, without duplicates. `ttl` in seconds, the lowest of the set. */
export type RRset = { name: string; type: QuestionType; ttl: number; values: string[] }

/** The CNAME records passed on the way from the question's name, in order. Empty when the name owns the records itself. */
export type CnameChain = { name: string; target: string; ttl: number }[]

/** RFC 8914. */
export type ExtendedError = { code: number; text: string }

/**
 * What asking one question came to. Everything here is a fact to record, so nothing throws.
 * `chain` is what of the alias chain was learned, also where it led to nothing.
 */
export type Outcome =
  /** `pool`: see `Pool`; absent for a set that is given whole each time, as nearly all are. */
  | { kind: 'answer'; rrset: RRset; chain: CnameChain; pool?: Pool }
  /** NOERROR without the type asked for. RFC 2308 section 2.2. */
  | { kind: 'nodata'; chain: CnameChain }
  /** RFC 2308 section 2.1. */
  | { kind: 'nxdomain'; chain: CnameChain }
  /**
   * The answer says that it failed: SERVFAIL, REFUSED, FORMERR, NOTIMP, … `bogus`: the records come when DNSSEC validation
   * is switched off, so that is what failed. RFC 4035 section 5.5.
   */
  | { kind: 'failure'; rcode: string; ede: ExtendedError[]; bogus?: true }
  /**
   * The server knows no more and says so: ask elsewhere, for the last name of `chain` (where empty: the question's own).
   * `zone` and `nameServers` are the delegation, undefined and empty where only an alias chain broke off. `glue` are the
   * addresses that came with it, `ttl` the delegation's in seconds. RFC 1034 section 4.3.2. From a server that was asked to
   * recurse it is a failure.
   */
  | { kind: 'referral'; chain: CnameChain; zone: string | undefined; nameServers: string[]; glue: Glue[]; ttl: number }
  /** The zone is delegated to name servers none of which knows it or has an address. RFC 9499 section 7. `reason` has no subject. */
  | { kind: 'lame'; zone: string; nameServers: string[]; reason: string }
  /** A CNAME loop, or more than 16 CNAME records. */
  | { kind: 'cname_loop'; chain: CnameChain }
  /** A packet came from the right place and cannot be read or answers something else. */
  | { kind: 'malformed'; reason: string }
  /** No usable packet within the deadline. */
  | { kind: 'timeout' }
  /** The server could not be reached: the network said so (ECONNREFUSED, ENETUNREACH, …). */
  | { kind: 'unreachable'; reason: string }

/**
 * The name servers give another part of the set each time, and the values are all that were seen: with near certainty the
 * `whole` of it, or a `part`.
 */
export type Pool = 'whole' | 'part'

/** An address of a name server, told by the server that refers to it. `ip` in canonical text. */
export type Glue = { name: string; ip: string }

/** `ip` in canonical text. */
export type ServerAddress = { ip: string; port: number }

/** The record of one exchange with one server: what went over the wire and when. Kept as evidence. */
export type Evidence = {
  server: string // `ip:port`, IPv6 in brackets
  name?: string // of the server, where it was found by following the delegation
  path?: 'recursive' | 'authoritative'
  transport: 'udp' | 'tcp'
  rcode: string | null // null when nothing readable came
  flags: readonly string[] // of aa, tc, rd, ra, ad, cd: those that were set
  ede: ExtendedError[]
  ms: number
  outcome: Outcome | null // null: truncated, so asked again over TCP
}

/** A lookup's outcome, and every exchange that led to it, in order. */
export type Reply = { outcome: Outcome; evidence: Evidence[] }
