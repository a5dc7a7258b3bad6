import { randomBytes } from 'node:crypto'
import type { NetworkState } from '#contract/server.ts'
import type { Clock } from '../clock.ts'
import type { DnsClient } from './client.ts'
import { wireLength } from './names.ts'
import { type Exchange, isStale, isUsable, type Outcome, type Reply } from './outcome.ts'

/** Whether Zonewatch's own network and resolvers work. All checks of a process share one state. */
export type NetworkCheck = {
  state(): Promise<NetworkState>
  /** The last known state, without a query; `ok` before the first one. */
  lastState(): NetworkState
  /** A check received an answer. During an outage this triggers a probe, so that the end is noticed early. */
  noteAnswer(): void
  /** A name that was not failing before has failed. */
  noteFailure(name: string): void
}

export type NetworkCheckOptions = {
  dns: DnsClient
  clock: Clock
  /** Names that resolve as long as the network works. */
  canaries: readonly string[]
  /** The network may have no public DNS: then names that never resolve say nothing. */
  isOptional?: boolean
  /** Whether the root servers, which answered before, are silent now. */
  areRootsLost?: () => Promise<boolean>
  /** Called once for each outage, as is `onRecovery`. */
  onOutage(): void
  onRecovery(): void
}

/** Long enough for many failures at the same time to share one probe, and shorter than the pause before a retry. */
const VALID_FOR_MS = 2_000
/** Failures of this many unrelated zones within a minute, with silent root servers, are a fault of the own network. */
const UNRELATED_ZONES = 5
const FAILURES_WITHIN_MS = 60_000
const MAX_FAILURES = 100
/** If no optional canary has resolved for this long since the start, and other names have, there is no public DNS. */
const NO_PUBLIC_DNS_AFTER_MS = 10 * 60_000
/** RFC 6761 section 6.4. */
const NONEXISTENT_NAME = 'nothing.invalid'
const MAX_WIRE_NAME = 255

export function createNetworkCheck({
  dns,
  clock,
  canaries,
  isOptional = false,
  areRootsLost = async () => false,
  onOutage,
  onRecovery,
}: NetworkCheckOptions): NetworkCheck {
  let last: { state: NetworkState; validUntil: number } | undefined
  let probing: Promise<NetworkState> | undefined
  let hasResolved = false
  let hasAnswer = false
  const startedAt = clock.elapsed()
  const failedAt = new Map<string, number>() // by zone, the oldest first

  async function probe(): Promise<NetworkState> {
    const wasOk = last === undefined || last.state === 'ok'
    const state = await findState()
    last = { state, validUntil: clock.elapsed() + VALID_FOR_MS }
    if (wasOk && state !== 'ok') onOutage()
    if (!wasOk && state === 'ok') onRecovery()
    return state
  }

  async function findState(): Promise<NetworkState> {
    const state = await queryCanaries(dns, canaries)
    if (state === 'ok') {
      hasResolved = true
      return hasManyFailures() && (await areRootsLost()) ? 'offline' : 'ok'
    }
    const isLong = clock.elapsed() - startedAt >= NO_PUBLIC_DNS_AFTER_MS
    return isOptional && !hasResolved && hasAnswer && isLong ? 'ok' : state
  }

  function hasManyFailures(): boolean {
    const since = clock.elapsed() - FAILURES_WITHIN_MS
    return [...failedAt.values()].filter((at) => at >= since).length >= UNRELATED_ZONES
  }

  async function state(): Promise<NetworkState> {
    if (last && clock.elapsed() < last.validUntil) return last.state
    probing ??= probe().finally(() => {
      probing = undefined
    })
    return await probing
  }

  return {
    state,
    lastState: () => last?.state ?? 'ok',
    noteAnswer() {
      hasAnswer = true
      if (last && last.state !== 'ok') void state().catch(() => {}) // the client is being closed
    },
    noteFailure(name) {
      const zone = name.split('.').slice(-2).join('.')
      failedAt.delete(zone)
      failedAt.set(zone, clock.elapsed())
      const oldest = failedAt.keys().next().value
      if (failedAt.size > MAX_FAILURES && oldest !== undefined) failedAt.delete(oldest)
    },
  }
}

/**
 * Resolves as soon as one canary name resolves to something else than the nonexistent name, and a name below it, which no cache
 * has, is answered. Rejects when the client is closed.
 */
async function queryCanaries(dns: DnsClient, canaries: readonly string[]): Promise<NetworkState> {
  const nonexistent = dns.query({ name: NONEXISTENT_NAME, type: 'A' }, { attempts: 1 })
  // One resolver that denies every name does not mean that the network fails.
  const accept = ({ outcome }: Exchange) => outcome?.kind === 'answer' || outcome?.kind === 'nodata'
  const replies = canaries.map((name) => dns.query({ name, type: 'A' }, { accept }))
  const proofs = canaries.map(async (name, index) => {
    const [reply, fresh] = await Promise.all([replies[index]!, dns.query({ name: uncachedName(name), type: 'A' })])
    const isFresh = isUsable(fresh.outcome) && !isStale(fresh)
    if (isFresh && isResolved(reply) && !hasSameValues(reply.outcome, (await nonexistent).outcome)) return
    throw new Error('the name does not resolve')
  })
  return await Promise.any(proofs).then(
    () => 'ok',
    async () => {
      const { outcome } = await nonexistent
      const isCaptive = (await Promise.all(replies)).some(
        (reply) => isResolved(reply) && hasSameValues(reply.outcome, outcome),
      )
      return isCaptive ? 'captive_portal' : 'offline'
    },
  )
}

/** Random, so that it is in no cache. */
function uncachedName(name: string): string {
  const below = `zw-${randomBytes(6).toString('hex')}.${name}`
  return wireLength(below) <= MAX_WIRE_NAME ? below : name
}

/** A stale answer from a cache does not show that the network works. */
function isResolved(reply: Reply): boolean {
  return (reply.outcome.kind === 'answer' || reply.outcome.kind === 'nodata') && !isStale(reply)
}

function hasSameValues(one: Outcome, other: Outcome): boolean {
  if (one.kind === 'answer' && other.kind === 'answer') return one.rrset.values.join() === other.rrset.values.join()
  return one.kind === 'nodata' && other.kind === 'nodata'
}
