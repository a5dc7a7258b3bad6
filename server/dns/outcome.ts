/** The record types that Zonewatch can ask for. RFC 1035 section 3.2.2, RFC 3596, RFC 8659. */
export const QUESTION_TYPES = ['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'PTR', 'CAA', 'SOA'] as const
export type QuestionType = (typeof QUESTION_TYPES)[number]

/** `name`: A-labels in lower case, without the trailing dot; the root is the empty string. */
export type Question = { name: string; type: QuestionType }

/** `values`: rdata in canonical text (see `rdata.ts`), sorted, without duplicates. `ttl` in seconds, the lowest of the set. */
export type RRset = { name: string; type: QuestionType; ttl: number; values: string[] }

/** The CNAME records passed on the way from the question's name, in order. Empty when the name owns the records itself. */
export type AliasChain = { name: string; target: string; ttl: number }[]

/** RFC 8914. */
export type ExtendedError = { code: number; text: string }

/**
 * What asking one question came to. Everything here is a fact to record, so nothing throws.
 * `chain` is what of the alias chain was learned, also where it led to nothing.
 */
export type Outcome =
  | { kind: 'answer'; rrset: RRset; chain: AliasChain }
  /** NOERROR without the type asked for. RFC 2308 section 2.2. */
  | { kind: 'nodata'; chain: AliasChain }
  /** RFC 2308 section 2.1. */
  | { kind: 'nxdomain'; chain: AliasChain }
  /** The answer says that it failed: SERVFAIL, REFUSED, FORMERR, NOTIMP, … */
  | { kind: 'failure'; rcode: string; ede: ExtendedError[] }
  /**
   * The server knows no more and says so: ask elsewhere, for the last name of `chain` (where empty: the question's own).
   * `zone` and `nameServers` are the delegation, undefined and empty where only an alias chain broke off. `glue` are the
   * addresses that came with it. RFC 1034 section 4.3.2. From a server that was asked to recurse it is a failure.
   */
  | { kind: 'referral'; chain: AliasChain; zone: string | undefined; nameServers: string[]; glue: Glue[] }
  /** An alias loop, or more than 16 CNAME records. */
  | { kind: 'endless_alias'; chain: AliasChain }
  /** A packet came from the right place and cannot be read or answers something else. */
  | { kind: 'malformed'; reason: string }
  /** No usable packet within the deadline. */
  | { kind: 'timeout' }
  /** The server could not be reached: the network said so (ECONNREFUSED, ENETUNREACH, …). */
  | { kind: 'unreachable'; reason: string }

/** An address of a name server, told by the server that refers to it. `ip` in canonical text. */
export type Glue = { name: string; ip: string }

/** `ip` in canonical text. */
export type ServerAddress = { ip: string; port: number }

/** The record of one exchange with one server: what went over the wire and when. Kept as evidence. */
export type Evidence = {
  server: string // `ip:port`, IPv6 in brackets
  transport: 'udp' | 'tcp'
  rcode: string | null // null when nothing readable came
  flags: string[] // of aa, tc, rd, ra, ad, cd: those that were set
  ede: ExtendedError[]
  ms: number
  outcome: Outcome | null // null: truncated, so asked again over TCP
}

/** A lookup's outcome, and every exchange that led to it, in order. */
export type Reply = { outcome: Outcome; evidence: Evidence[] }
