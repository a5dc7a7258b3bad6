import type { Clock } from '../clock.ts'
import type { DnsClient } from './client.ts'
import { isStale } from './extended-errors.ts'
import type { Outcome, Reply } from './outcome.ts'

/**
 * `well`: a name resolves. `captive`: they resolve to what a name that cannot exist resolves to, as where a network asks for
 * money or consent first: no answer is worth anything. `gone`: none resolves, so failures and denials are worth nothing.
 */
export type NetworkState = 'well' | 'captive' | 'gone'

/** Names that resolve as long as our own network and recursive servers work. One state for all checks of the process. */
export type NetworkCheck = {
  state(): Promise<NetworkState>
  /** What was found last, without asking; `well` before anything was. */
  lastState(): NetworkState
  /** To be told of an answer, so that the end of an outage is noticed without waiting for another failure. */
  noteAnswer(): void
}

/** How long a probe counts. Longer than many failures at once take to come in, shorter than the pause of a confirmation. */
const VALID_FOR_MS = 2_000
/** RFC 6761 section 6.4. */
const IMPOSSIBLE = 'nothing.invalid'

export type NetworkCheckOptions = {
  dns: DnsClient
  clock: Clock
  canaries: readonly string[]
  /** Each is called once for an outage. */
  onOutage(): void
  onRecovery(): void
}

export function createNetworkCheck({
  dns,
  clock,
  canaries: names,
  onOutage,
  onRecovery,
}: NetworkCheckOptions): NetworkCheck {
  let isOut = false
  let known: { state: NetworkState; until: number } | undefined
  let probing: Promise<NetworkState> | undefined

  async function probe(): Promise<NetworkState> {
    const state = await stateOf(dns, names)
    known = { state, until: clock.elapsed() + VALID_FOR_MS }
    const isWell = state === 'well'
    if (!isWell && !isOut) onOutage()
    if (isWell && isOut) onRecovery()
    isOut = !isWell
    return state
  }

  async function network(): Promise<NetworkState> {
    if (known && clock.elapsed() < known.until) return known.state
    probing ??= probe().finally(() => {
      probing = undefined
    })
    return await probing
  }

  return {
    state: network,
    lastState: () => known?.state ?? 'well',
    noteAnswer() {
      if (isOut) void network().catch(() => {}) // the client is being closed
    },
  }
}

/** Known as soon as one name resolves to something of its own. Rejects when the client is closed. */
async function stateOf(dns: DnsClient, names: readonly string[]): Promise<NetworkState> {
  const impossible = dns.query({ name: IMPOSSIBLE, type: 'A' }, { attempts: 1 })
  const replies = names.map((name) => dns.query({ name, type: 'A' }))
  const good = replies.map(async (reply) => {
    if (!isResolved(await reply) || isAlike((await reply).outcome, (await impossible).outcome)) {
      throw new Error('the name does not resolve')
    }
  })
  return await Promise.any(good).then(
    () => 'well',
    async () => ((await Promise.all([impossible, ...replies])).slice(1).some(isResolved) ? 'captive' : 'gone'),
  )
}

/** What comes out of a cache that could not ask again says nothing about the way out. */
function isResolved(reply: Reply): boolean {
  return (reply.outcome.kind === 'answer' || reply.outcome.kind === 'nodata') && !isStale(reply)
}

function isAlike(one: Outcome, other: Outcome): boolean {
  if (one.kind === 'answer' && other.kind === 'answer') return one.rrset.values.join() === other.rrset.values.join()
  return one.kind === 'nodata' && other.kind === 'nodata'
}
