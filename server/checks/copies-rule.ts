import { isStale, isUsable, type Reply } from '../dns/outcome.ts'
import {
  type Check,
  inconclusive,
  isMajorityDue,
  MAX_INCONCLUSIVE,
  type Query,
  repliesByPurpose,
  resolverOf,
  type Step,
  sendQueries,
  verdict,
} from './check-state.ts'
import { serverOf } from './outcomes.ts'
import { CONFIRMATIONS } from './reasons.ts'

/**
 * How often a resolver is asked whether it can resolve the zone by the current delegation: several caches may answer behind its
 * address, some with an old one.
 */
const CACHE_PROBES = 8
/** Of these at first: if they fail, the others are not sent. */
const FIRST_PROBES = 2
/** Of those that were answered. Single failures may be lost packets between the resolver and the zone. */
const MIN_FAILING_SHARE = 0.25

/** Each resolver that answers is asked for names that no cache has, and for the name servers that it knows. */
export function onlyCopies(check: Check, replies: readonly Reply[], hasUsable: boolean): Step | undefined {
  const { view, failure } = check.zone
  if (!view || !failure) return undefined
  const answering = new Map(
    replies.flatMap((reply) => (isUsable(reply.outcome) ? [[serverOf(reply), resolverOf(check, reply)]] : [])),
  )
  const queries = [...answering].flatMap(([server, servers]): Query[] => {
    const sent = findProbes(check, 'uncached', server).length
    const more = sent === 0 ? FIRST_PROBES : isProvenCopy(check, server) ? 0 : CACHE_PROBES - sent
    const probe: Query[] = [
      { purpose: 'uncached', zone: view.zone, servers },
      { purpose: 'resolver_ns', name: view.zone, servers, attempts: 1 },
    ]
    return Array.from({ length: more }, () => probe).flat()
  })
  if (queries.length > 0) return sendQueries(...queries)
  if (answering.size === 0 || hasUsable) return undefined
  return waitForServers(check) ?? verdict(check, failure, CONFIRMATIONS.copiesExpired)
}

/** Waits until the zone's name servers were silent in enough checks. Those in which the answers of a rotation differed do not count. */
function waitForServers(check: Check): Step | undefined {
  const { rotation, mustConclude } = check.recorded
  if (!rotation) return isMajorityDue(check) ? undefined : inconclusive(check, CONFIRMATIONS.onlyCopies)
  const silentChecks = rotation.silentChecks ?? 0
  if (mustConclude || silentChecks >= MAX_INCONCLUSIVE) return undefined
  return inconclusive(check, CONFIRMATIONS.onlyCopies, { ...rotation, silentChecks: silentChecks + 1 })
}

function findProbes(check: Check, purpose: 'uncached' | 'resolver_ns', server: string): Reply[] {
  return repliesByPurpose(check, purpose).filter((reply) => serverOf(reply) === server)
}

/**
 * Whether a resolver's answers are old copies, or come from the servers of an old delegation, while the delegated servers fail: it
 * cannot resolve names that no cache has, or knows none of the delegated servers.
 */
export function hasOnlyCopies(check: Check, reply: Reply): boolean {
  const server = serverOf(reply)
  if (!check.zone.view || !check.zone.failure) return false
  const probes = findProbes(check, 'uncached', server)
  if (probes.length === 0) return false
  const delegations = findProbes(check, 'resolver_ns', server)
  return isOftenFailing(probes) || isOftenFailing(delegations) || isProvenCopy(check, server)
}

/** Whether further probes cannot change that. */
function isProvenCopy(check: Check, server: string): boolean {
  const delegations = findProbes(check, 'resolver_ns', server)
  const failing = [findProbes(check, 'uncached', server), delegations].map(
    (replies) => replies.filter(isFailing).length,
  )
  const delegated = new Set(check.zone.view!.nameServers.map(({ name }) => name))
  const isOld = delegations.some(
    ({ outcome }) => outcome.kind === 'answer' && !outcome.rrset.values.some((name) => delegated.has(name)),
  )
  return isOld || Math.max(...failing) >= CACHE_PROBES * MIN_FAILING_SHARE
}

function isOftenFailing(replies: readonly Reply[]): boolean {
  const answered = replies.filter(({ outcome }) => outcome.kind !== 'timeout')
  return replies.filter(isFailing).length >= answered.length * MIN_FAILING_SHARE
}

/** A timeout proves nothing. */
function isFailing(reply: Reply): boolean {
  return reply.outcome.kind !== 'timeout' && (!isUsable(reply.outcome) || isStale(reply))
}
