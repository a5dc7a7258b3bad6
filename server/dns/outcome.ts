import type { MonitorRecordType } from '#contract/record-types.ts'

/** The record types that Zonewatch can query; SPF is a kind of TXT. */
export type QuestionType = Exclude<MonitorRecordType, 'SPF'>

/** `name`: A-labels in lower case, without the trailing dot; the root is the empty string. */
export type Question = { name: string; type: QuestionType }

/** `values`: rdata in canonical text (see `rdata.ts`), sorted, without duplicates. `ttl` in seconds, the lowest of the set. */
export type RRset = { name: string; type: QuestionType; ttl: number; values: string[] }

/** The CNAME records from the question's name to the records, in order. Empty when the name owns the records itself. */
export type CnameChain = { name: string; target: string; ttl: number }[]

/** RFC 8914. */
export type ExtendedError = { code: number; text: string }

/** The result of one question. Every case is a fact to record, so nothing throws. `chain`: as much of the CNAME chain as is known. */
export type Outcome =
  /**
   * `pool`: present if the name servers return different members of the RRset each time. `values` are then all members that
   * were seen: with near certainty the `whole` RRset, or a `part` of it.
   */
  | { kind: 'answer'; rrset: RRset; chain: CnameChain; pool?: 'whole' | 'part' }
  /** NOERROR without the queried type. RFC 2308 section 2.2. */
  | { kind: 'nodata'; chain: CnameChain }
  /** RFC 2308 section 2.1. */
  | { kind: 'nxdomain'; chain: CnameChain }
  /** SERVFAIL, REFUSED, FORMERR, NOTIMP, … `bogus`: the records arrive when DNSSEC validation is disabled. RFC 4035 section 5.5. */
  | { kind: 'failure'; rcode: string; ede: ExtendedError[]; bogus?: true }
  /**
   * Other servers must be queried for the last name of `chain` (if empty: the question's name). `zone` and `nameServers` are the
   * delegation, undefined and empty if only the CNAME chain ended early. `ttl`: of the delegation, in seconds.
   * RFC 1034 section 4.3.2. From a recursive resolver it is a failure.
   */
  | { kind: 'referral'; chain: CnameChain; zone: string | undefined; nameServers: string[]; glue: Glue[]; ttl: number }
  /** The zone is delegated to name servers of which none serves it or has an address. RFC 9499 section 7. `reason` is a clause. */
  | { kind: 'lame'; zone: string; nameServers: string[]; reason: string }
  /** A CNAME loop, or more than 16 CNAME records. */
  | { kind: 'cname_loop'; chain: CnameChain }
  /** The server sent a packet that cannot be parsed, or that answers another question. */
  | { kind: 'malformed'; reason: string }
  /** No usable packet within the deadline. */
  | { kind: 'timeout' }
  /** The network or the operating system reported an error (ECONNREFUSED, ENETUNREACH, …). */
  | Unreachable

/** `isTruncated`: the server answers over UDP, but the answer does not fit, and there is none over TCP. RFC 7766 section 5. */
type Unreachable = { kind: 'unreachable'; reason: string; isTruncated?: true }

/** An address of a name server, from the referral to it. `ip` in canonical text. */
export type Glue = { name: string; ip: string }

/** `ip` in canonical text. */
export type ServerAddress = { ip: string; port: number }

/** One exchange with one server. Stored as evidence. */
export type Exchange = {
  server: string // `ip:port`, IPv6 in brackets
  name?: string // of the name server, if the delegation was followed
  path?: 'recursive' | 'authoritative'
  question?: Question
  transport: 'udp' | 'tcp'
  rcode: string | null // null without a readable response
  flags: readonly string[] // of aa, tc, rd, ra, ad, cd: those that were set
  ede: ExtendedError[]
  ms: number
  outcome: Outcome | null // null: truncated, so retried over TCP
}

/** `evidence`: every exchange that led to the outcome, in order. */
export type Reply = { outcome: Outcome; evidence: Exchange[] }

/** Whether the outcome says what records exist. All others are failures. */
export function isUsable(outcome: Outcome): boolean {
  switch (outcome.kind) {
    case 'answer':
    case 'nodata':
    case 'nxdomain':
    case 'cname_loop':
      return true
    case 'referral':
    case 'failure':
    case 'lame':
    case 'malformed':
    case 'timeout':
    case 'unreachable':
      return false
  }
}

/** The first outcome of the first kind of which there is one. */
export function firstOfKinds(outcomes: readonly Outcome[], kinds: readonly Outcome['kind'][]): Outcome | undefined {
  return kinds.flatMap((kind) => outcomes.find((outcome) => outcome.kind === kind) ?? [])[0]
}

/** The failure of servers that truncate their answer over UDP and give none over TCP, if there is such a server. */
export function truncatedWithoutTcp(evidence: readonly Exchange[]): Unreachable | undefined {
  for (const { transport, outcome } of evidence) {
    if (transport !== 'tcp' || (outcome?.kind !== 'timeout' && outcome?.kind !== 'unreachable')) continue
    return { kind: 'unreachable', reason: outcome.kind === 'timeout' ? 'timeout' : outcome.reason, isTruncated: true }
  }
  return undefined
}

// What a server says about its own answer. RFC 8914 section 4.
const STALE = new Set([3, 19])
const FILTERED = new Set([4, 15, 16, 17])
const DNSSEC = new Set([1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 25, 27])
const UNREACHABLE = new Set([22, 23])

/** The resolver could not refresh its expired answer. RFC 8767. */
export function isStale(reply: Pick<Reply, 'evidence'>): boolean {
  return hasExtendedError(reply, STALE)
}

/** The resolver forges, blocks, censors or filters the answer. */
export function isFiltered(reply: Reply): boolean {
  return hasExtendedError(reply, FILTERED)
}

/** DNSSEC validation failed. */
export function isDnssecFailure(reply: Reply): boolean {
  return hasExtendedError(reply, DNSSEC)
}

/** The resolver could not reach the zone's name servers. */
export function isUnreachableFailure(reply: Pick<Reply, 'evidence'>): boolean {
  return hasExtendedError(reply, UNREACHABLE)
}

function hasExtendedError({ evidence }: Pick<Reply, 'evidence'>, codes: ReadonlySet<number>): boolean {
  return evidence.at(-1)?.ede.some(({ code }) => codes.has(code)) ?? false
}
