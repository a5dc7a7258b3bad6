/** What resolvers do differently. `resolver-models.interop.ts` compares the values of real ones. All durations in seconds. */
export type ResolverPolicy = {
  /** Validates DNSSEC, and says so with extended errors. RFC 4035 section 5, RFC 8914. */
  validates: boolean
  extendedErrors: boolean
  /** Floor and cap of TTLs in the cache. */
  minTtl: number
  maxTtl: number
  /** Cap of the TTL of a denial. RFC 2308 section 5. */
  maxNegativeTtl: number
  /** How long a failed resolution is not tried again. RFC 9520. */
  failureTtl: number
  /** Refreshes a record that is queried in the last tenth of its TTL. */
  prefetches: boolean
  /**
   * Whether the NS records of the zone itself replace those of its parent, with their own TTL: always, or once those of the
   * parent are about to expire. RFC 2181 section 5.4.1.
   */
  childNs: 'ignored' | 'always' | 'when_expiring'
  /** To refresh a record, a delegation that expires within this time counts as expired. */
  refreshLeeway: number
  /** Answers with expired records. RFC 8767. */
  serveStale?: ServeStale
  /** Answers this address instead of NXDOMAIN. */
  rewritesNxdomain?: string
}

/** `when`: only after the refresh failed, or at once, while it refreshes. `isDeclared`: with the extended error 3. */
export type ServeStale = {
  when: 'after_failure' | 'at_once'
  isDeclared: boolean
  answerTtl: number
  maxStaleSeconds: number
}

/** A resolver that follows the RFCs and nothing else. */
export const PLAIN: ResolverPolicy = {
  validates: false,
  extendedErrors: false,
  minTtl: 0,
  maxTtl: 7 * 86_400,
  maxNegativeTtl: 3 * 3_600,
  failureTtl: 5,
  prefetches: false,
  childNs: 'ignored',
  refreshLeeway: 0,
}
