import type { NetworkState } from '#contract/server.ts'
import type { Clock } from '../clock.ts'
import type { DnsClient } from './client.ts'
import { isStale, type Outcome, type Reply } from './outcome.ts'

/** Whether Zonewatch's own network and resolvers work. All checks of a process share one state. */
export type NetworkCheck = {
  state(): Promise<NetworkState>
  /** The last known state, without a query; `well` before the first one. */
  lastState(): NetworkState
  /** A check received an answer. During an outage this triggers a probe, so that the end is noticed early. */
  noteAnswer(): void
}

export type NetworkCheckOptions = {
  dns: DnsClient
  clock: Clock
  /** Names that resolve as long as the network works. */
  canaries: readonly string[]
  /** Called once for each outage, as is `onRecovery`. */
  onOutage(): void
  onRecovery(): void
}

/** Long enough for many failures at the same time to share one probe, and shorter than the pause before a retry. */
const VALID_FOR_MS = 2_000
/** RFC 6761 section 6.4. */
const NONEXISTENT_NAME = 'nothing.invalid'

export function createNetworkCheck({ dns, clock, canaries, onOutage, onRecovery }: NetworkCheckOptions): NetworkCheck {
  let last: { state: NetworkState; validUntil: number } | undefined
  let probing: Promise<NetworkState> | undefined

  async function probe(): Promise<NetworkState> {
    const wasWell = last === undefined || last.state === 'well'
    const state = await queryCanaries(dns, canaries)
    last = { state, validUntil: clock.elapsed() + VALID_FOR_MS }
    if (wasWell && state !== 'well') onOutage()
    if (!wasWell && state === 'well') onRecovery()
    return state
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
    lastState: () => last?.state ?? 'well',
    noteAnswer() {
      if (last && last.state !== 'well') void state().catch(() => {}) // the client is being closed
    },
  }
}

/** Resolves as soon as one canary name resolves to something else than the nonexistent name. Rejects when the client is closed. */
async function queryCanaries(dns: DnsClient, canaries: readonly string[]): Promise<NetworkState> {
  const nonexistent = dns.query({ name: NONEXISTENT_NAME, type: 'A' }, { attempts: 1 })
  const replies = canaries.map((name) => dns.query({ name, type: 'A' }))
  const resolved = replies.map(async (reply) => {
    if (!isResolved(await reply) || hasSameValues((await reply).outcome, (await nonexistent).outcome)) {
      throw new Error('the name does not resolve')
    }
  })
  return await Promise.any(resolved).then(
    () => 'well',
    async () => ((await Promise.all([nonexistent, ...replies])).slice(1).some(isResolved) ? 'captive' : 'gone'),
  )
}

/** A stale answer from a cache does not show that the network works. */
function isResolved(reply: Reply): boolean {
  return (reply.outcome.kind === 'answer' || reply.outcome.kind === 'nodata') && !isStale(reply)
}

function hasSameValues(one: Outcome, other: Outcome): boolean {
  if (one.kind === 'answer' && other.kind === 'answer') return one.rrset.values.join() === other.rrset.values.join()
  return one.kind === 'nodata' && other.kind === 'nodata'
}
