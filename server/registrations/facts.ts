import type { RegistrationProblem } from '#contract/zone-codes.ts'

/** What a registry says of a domain (RFC 9083 section 5.3). Instants are UTC epoch milliseconds. Lists are sorted. */
export type RegistrationFacts =
  | ({ state: 'registered' } & Registered)
  /** The registry does not know the domain (404). */
  | { state: 'not_found' }
  /** The registry has no RDAP server. */
  | { state: 'no_rdap' }

export type Registered = {
  registrar: string | null
  /** The number of the registrar at IANA. */
  registrarId: string | null
  expiresAt: number | null
  /** In the words of RFC 8056, such as `client transfer prohibited`. */
  statuses: string[]
  /** Null if the registry does not say. */
  nameServers: string[] | null
  /** The key tags of the DS records; null if the registry does not say. */
  dsKeyTags: number[] | null
}

/** What is known of the registration of a domain. A failed look-up changes only `problem`. */
export type Registration = {
  domain: string
  /** As two look-ups saw them; null before that. */
  facts: RegistrationFacts | null
  lookedUpAt: number | null
  problem: RegistrationProblem | null
}
