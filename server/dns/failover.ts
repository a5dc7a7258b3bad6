import { exchange, type OpenExchange } from './exchange.ts'
import type { QueryFlags } from './messages.ts'
import { type Exchange, firstOfKinds, isUsable, type Outcome, type Question, truncatedWithoutTcp } from './outcome.ts'
import { recordExchange, type Upstream } from './upstreams.ts'

/** Resolves when the answer, which may have 64 KiB, can be kept. Rejects with the signal's reason, and with `OverloadError`. */
export type BeforeTcp = (signal: AbortSignal | undefined) => Promise<void>

/** The limits of one query, and what has been used of them: `remainingMs` for exchanges, and the evidence of each. */
export type PendingQuery = {
  recursionDesired: boolean
  checkingDisabled: boolean
  mixesCase: boolean
  timeoutMs: number
  attempts: number
  maxWaitMs: number
  remainingMs: number
  signal: AbortSignal | undefined
  group: string | undefined
  beforeTcp: BeforeTcp | undefined
  accept: ((exchange: Exchange) => boolean) | undefined
  evidence: Exchange[]
}

type Deps = Parameters<typeof exchange>[0] & { onExchange: (exchange: Exchange) => void }

type QueryMethod = Pick<Exchange, 'transport'> & Pick<QueryFlags, 'edns'>

const FIRST_METHOD: QueryMethod = { transport: 'udp', edns: true }

/** Queries one server after the other until an outcome is final. Otherwise returns the most informative failure. */
export async function queryServers(
  deps: Deps,
  upstreams: Upstream[],
  question: Question,
  pending: PendingQuery,
): Promise<Outcome> {
  const candidates = [...upstreams]
  const failures: Outcome[] = []
  const mismatches = new Set<Outcome>()
  for (let attempt = 0; attempt < pending.attempts && pending.remainingMs > 0; attempt++) {
    const upstream = candidates.shift()
    if (!upstream) break
    let last: Exchange | undefined
    let isMismatched = false
    let method: QueryMethod | undefined = FIRST_METHOD
    while (method && pending.remainingMs > 0) {
      if (method.transport === 'tcp') await pending.beforeTcp?.(pending.signal)
      const slot = waitForSlot(upstream, pending)
      if (slot) await slot
      const current = newExchange(upstream, method, question, pending)
      try {
        last = await exchange(deps, current)
      } finally {
        upstream.semaphore.release(current.hasReleasedSlot)
      }
      isMismatched = current.isMismatched
      pending.remainingMs -= last.ms
      pending.evidence.push(last)
      deps.onExchange(last)
      const { outcome } = last
      if (outcome) recordExchange(upstream, question.type, outcome.kind === 'referral' || isUsable(outcome))
      method = fallbackMethod(method, last)
    }
    const outcome: Outcome = last?.outcome ?? { kind: 'timeout' }
    if (pending.accept && last ? pending.accept(last) : isFinal(outcome, pending.recursionDesired)) return outcome
    failures.push(outcome)
    if (isMismatched) mismatches.add(outcome)
    // Only a timeout may be a lost packet. Other failures would repeat.
    if (outcome.kind === 'timeout' || isMismatched) candidates.push(upstream)
  }
  // Anyone may have sent a mismatched packet, so it counts only if no attempt timed out.
  const hasTimeout = failures.some(({ kind }) => kind === 'timeout')
  const counted = hasTimeout ? failures.filter((outcome) => !mismatches.has(outcome)) : failures
  const reported = firstOfKinds(counted, ['failure', 'malformed', 'referral']) ?? truncatedWithoutTcp(pending.evidence)
  return reported ?? firstOfKinds(counted, ['unreachable']) ?? { kind: 'timeout' }
}

/** Undefined if the query may be sent at once. */
function waitForSlot(
  { rateLimiter, semaphore }: Upstream,
  { maxWaitMs, signal, group }: PendingQuery,
): Promise<void> | undefined {
  const rateLimited = rateLimiter.wait(maxWaitMs, signal, group)
  return rateLimited ? rateLimited.then(() => semaphore.acquire(signal, group)) : semaphore.acquire(signal, group)
}

function newExchange(
  upstream: Upstream,
  { transport, edns }: QueryMethod,
  question: Question,
  pending: PendingQuery,
): OpenExchange {
  const { recursionDesired, checkingDisabled, mixesCase } = pending
  return {
    server: upstream.address,
    transport,
    send: transport === 'udp' ? upstream.udp.send : upstream.tcp,
    semaphore: upstream.semaphore,
    question,
    flags: { edns, recursionDesired, checkingDisabled },
    timeoutMs: Math.min(pending.timeoutMs, pending.remainingMs),
    signal: pending.signal,
    hasReleasedSlot: false,
    mixesCase,
    isMismatched: false,
  }
}

/** Retries the same server over TCP after a truncated response, and without EDNS if it does not support EDNS. RFC 6891 section 7. */
function fallbackMethod({ edns }: QueryMethod, { outcome }: Exchange): QueryMethod | undefined {
  if (outcome === null) return { transport: 'tcp', edns }
  const isEdnsRefused = outcome.kind === 'failure' && (outcome.rcode === 'FORMERR' || outcome.rcode === 'NOTIMP')
  return edns && isEdnsRefused ? { transport: 'udp', edns: false } : undefined
}

/** Whether no other server needs to be queried. */
function isFinal(outcome: Outcome, recursionDesired: boolean): boolean {
  return outcome.kind === 'referral' ? !recursionDesired || outcome.chain.length > 0 : isUsable(outcome)
}
