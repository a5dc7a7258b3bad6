import type { Ds } from '../dns/dnssec/dnssec-records.ts'
import type { ServerVerdict } from '../dns/dnssec/server-validator.ts'
import type { Registration } from '../registrations/facts.ts'

/** What one look at a zone saw, from its parent's servers and from each of its own. Instants are UTC epoch milliseconds. */
export type ZoneFacts = {
  zone: string
  at: number
  /** Null: the parent zone does not delegate it. */
  delegation: Delegation | null
  /** The zone that contains the name, if it is not delegated. */
  parentZone: string
  /** The delegated name servers, then those that only the zone itself names. At most `MAX_SERVERS`. */
  servers: ServerFacts[]
  /** The DS records at the parent; null if unknown. */
  ds: Ds[] | null
  /** Of NSEC3PARAM; null without one, or if unknown. */
  nsec3Iterations: number | null
  /** Of its registered domain; null if unknown, or not looked up. */
  registration: Registration | null
}

/** `nameServers`: as most servers of the parent zone give them, sorted. */
export type Delegation = { nameServers: string[] }

export type ServerFacts = {
  name: string
  isDelegated: boolean
  /** In the NS records of the zone, as one of its servers gave them; null if unknown. */
  isInZone: boolean | null
  /** Null if they cannot be resolved now. */
  ips: string[] | null
  /** The addresses in the delegation, and those in the zone, of a name server inside the zone. Null for others, or if unknown. */
  glue: { delegation: string[]; zone: string[] } | null
  response: ServerResponse
}

/** The response to SOA. `lame`: without authority, or without the record. `unknown`: it could not be asked. */
export type ServerResponse =
  | ({ kind: 'answers' } & ServerAnswer)
  | { kind: 'lame' | 'silent' | 'no_address' | 'unknown' }
  | { kind: 'refuses'; rcode: string }

export type ServerAnswer = {
  soa: Soa
  /** Sorted; null if unknown. */
  nameServers: string[] | null
  /** Of SOA, NS and DNSKEY. */
  signatures: SignatureFacts[]
  keys: KeyFacts[] | null
  /** Whether it answers over TCP; null if unknown. */
  tcp: boolean | null
  /** What a validator makes of the SOA record; null if it was not asked. */
  verdict: ServerVerdict | null
}

/** RFC 1035 section 3.3.13. Times in seconds. */
export type Soa = {
  mname: string
  rname: string
  serial: number
  refresh: number
  retry: number
  expire: number
  minimum: number
}

export type SignatureFacts = { type: string; keyTag: number; inception: number; expiration: number }
/** `matchesDs`: at least one DS record. */
export type KeyFacts = { keyTag: number; algorithm: number }

export type AnsweringServer = ServerFacts & { response: { kind: 'answers' } & ServerAnswer }

export const isAnswering = (server: ServerFacts): server is AnsweringServer => server.response.kind === 'answers'

/** Name servers that are asked. As many as a referral without EDNS has room for. */
export const MAX_SERVERS = 13
