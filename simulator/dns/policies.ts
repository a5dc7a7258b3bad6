import { PLAIN, type ResolverPolicy } from './policy.ts'

/**
 * How Debian's resolvers differ from each other, without settings or with the usual ones. `npm run test:interop -- resolver-models`
 * compares each with the real one.
 */
export const UNBOUND: ResolverPolicy = {
  ...PLAIN,
  extendedErrors: true,
  maxTtl: 86_400,
  maxNegativeTtl: 3_600,
  refreshLeeway: 60,
}
export const BIND: ResolverPolicy = { ...PLAIN, failureTtl: 1 }
export const KNOT_RESOLVER: ResolverPolicy = {
  ...PLAIN,
  extendedErrors: true,
  minTtl: 5,
  maxTtl: 6 * 86_400,
  maxNegativeTtl: 6 * 86_400,
  childNs: 'when_expiring',
}
export const POWERDNS: ResolverPolicy = { ...PLAIN, maxTtl: 86_400, maxNegativeTtl: 3_600, childNs: 'always' }

/** Settings that operators choose. */
export const UNBOUND_STALE: ResolverPolicy = {
  ...UNBOUND,
  serveStale: { when: 'at_once', isDeclared: true, answerTtl: 30, maxStaleSeconds: 86_400 },
}
export const UNBOUND_FLOOR: ResolverPolicy = { ...UNBOUND, minTtl: 6, maxTtl: 12, prefetches: true }
export const BIND_STALE: ResolverPolicy = {
  ...BIND,
  serveStale: { when: 'after_failure', isDeclared: true, answerTtl: 30, maxStaleSeconds: 86_400 },
}

/** The resolvers of the worlds, by name. Those that validate answer SERVFAIL for what fails. */
export const MODELS: Readonly<Record<string, ResolverPolicy>> = {
  unbound: UNBOUND,
  bind: BIND,
  knot: KNOT_RESOLVER,
  powerdns: POWERDNS,
  'unbound, floor and cap': UNBOUND_FLOOR,
  'unbound, floor of an hour': { ...UNBOUND, minTtl: 3_600 },
  'unbound, validating': { ...UNBOUND, validates: true },
  'bind, validating': { ...BIND, validates: true },
  'knot, validating': { ...KNOT_RESOLVER, validates: true },
  'unbound, stale': UNBOUND_STALE,
  'bind, stale, validating': { ...BIND_STALE, validates: true },
  'undeclared stale': {
    ...UNBOUND,
    serveStale: { when: 'at_once', isDeclared: false, answerTtl: 30, maxStaleSeconds: 86_400 },
  },
  'undeclared stale, validating': {
    ...POWERDNS,
    validates: true,
    serveStale: { when: 'after_failure', isDeclared: false, answerTtl: 30, maxStaleSeconds: 3 * 86_400 },
  },
}
