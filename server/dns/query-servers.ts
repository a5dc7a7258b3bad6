import { type Exchange, exchange } from './exchange.ts'
import type { QueryFlags } from './messages.ts'
import type { Evidence, Outcome, Question } from './outcome.ts'
import { recordExchange, type Upstream } from './upstreams.ts'

/** What one call of `ask` may use and has used: `leftMs` of exchanges, and the record of them. */
export type PendingQuery = {
  recursionDesired: boolean
  checkingDisabled: boolean
  mixesCase: boolean
  timeoutMs: number
  attempts: number
  maxWaitMs: number
  remainingMs: number
  signal: AbortSignal | undefined
  accept: ((evidence: Evidence) => boolean) | undefined
  evidence: Evidence[]
}

type Deps = Parameters<typeof exchange>[0] & { onExchange: (evidence: Evidence) => void }

/** How a server is queried. */
type QueryMethod = Pick<Evidence, 'transport'> & Pick<QueryFlags, 'edns'>

const FIRST_WAY: QueryMethod = { transport: 'udp', edns: true }

/** Asks the servers one after the other until one settles the question; otherwise the most telling failure. */
export async function queryServers(
  deps: Deps,
  upstreams: Upstream[],
  question: Question,
  lookup: PendingQuery,
): Promise<Outcome> {
  const candidates = [...upstreams]
  const failures: Outcome[] = []
  const mismatches = new Set<Outcome>()
  for (let tries = 0; tries < lookup.attempts && lookup.remainingMs > 0; tries++) {
    const upstream = candidates.shift()
    if (!upstream) break
    let last: Evidence | undefined
    let isMismatched = false
    for (let way: QueryMethod | undefined = FIRST_WAY; way && lookup.remainingMs > 0; way = fallbackMethod(way, last)) {
      const turn = waitForSlot(upstream, lookup)
      if (turn) await turn
      const one = newExchange(upstream, way, question, lookup)
      try {
        last = await exchange(deps, one)
      } finally {
        upstream.semaphore.release(one.hasReleasedSlot)
      }
      isMismatched = one.isMismatched
      lookup.remainingMs -= last.ms
      lookup.evidence.push(last)
      deps.onExchange(last)
      if (last.outcome) recordExchange(upstream, question.type, isUsable(last.outcome))
    }
    const outcome: Outcome = last?.outcome ?? { kind: 'timeout' }
    if (lookup.accept && last ? lookup.accept(last) : isSettled(outcome, lookup.recursionDesired)) return outcome
    failures.push(outcome)
    if (isMismatched) mismatches.add(outcome)
    // Only silence may be a lost packet; asked again, a server would fail in the same way.
    if (outcome.kind === 'timeout' || isMismatched) candidates.push(upstream)
  }
  // What anybody may have sent counts only where it came each time.
  const isSilent = failures.some(({ kind }) => kind === 'timeout')
  return mostTelling(isSilent ? failures.filter((outcome) => !mismatches.has(outcome)) : failures)
}

/** Undefined where nothing is to be waited for. */
function waitForSlot(
  { rateLimiter, semaphore }: Upstream,
  { maxWaitMs, signal }: PendingQuery,
): Promise<void> | undefined {
  const paced = rateLimiter.wait(maxWaitMs, signal)
  return paced ? paced.then(() => semaphore.acquire(signal)) : semaphore.acquire(signal)
}

function newExchange(
  upstream: Upstream,
  { transport, edns }: QueryMethod,
  question: Question,
  lookup: PendingQuery,
): Exchange {
  const { recursionDesired, checkingDisabled, mixesCase } = lookup
  return {
    server: upstream.address,
    transport,
    send: transport === 'udp' ? upstream.udp.send : upstream.tcp,
    semaphore: upstream.semaphore,
    question,
    query: { edns, recursionDesired, checkingDisabled },
    timeoutMs: Math.min(lookup.timeoutMs, lookup.remainingMs),
    signal: lookup.signal,
    hasReleasedSlot: false,
    mixesCase,
    isMismatched: false,
  }
}

/** The same server once more: over TCP where its answer is truncated, and without EDNS where it cannot read it. */
function fallbackMethod({ edns }: QueryMethod, last: Evidence): QueryMethod | undefined {
  if (last.outcome === null) return { transport: 'tcp', edns }
  return edns && isEdnsRefused(last.outcome) ? { transport: 'udp', edns: false } : undefined
}

// RFC 6891 section 7.
function isEdnsRefused(outcome: Outcome): boolean {
  return outcome.kind === 'failure' && (outcome.rcode === 'FORMERR' || outcome.rcode === 'NOTIMP')
}

function isSettled(outcome: Outcome, recursionDesired: boolean): boolean {
  switch (outcome.kind) {
    case 'answer':
    case 'nodata':
    case 'nxdomain':
    case 'cname_loop':
      return true
    case 'referral':
      return !recursionDesired || outcome.chain.length > 0
    case 'failure':
    case 'lame':
    case 'malformed':
    case 'timeout':
    case 'unreachable':
      return false
  }
}

/** Whether a server does what it is there for. A referral is as much as some can say. */
function isUsable(outcome: Outcome): boolean {
  return outcome.kind === 'referral' || isSettled(outcome, false)
}

function mostTelling(failures: Outcome[]): Outcome {
  const order = ['failure', 'malformed', 'referral', 'unreachable']
  for (const kind of order) {
    const found = failures.find((outcome) => outcome.kind === kind)
    if (found) return found
  }
  return { kind: 'timeout' }
}
