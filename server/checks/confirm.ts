import type { Clock } from '../clock.ts'
import type { DnsClient } from '../dns/client.ts'
import type { Evidence, Outcome, Reply, ServerAddress } from '../dns/outcome.ts'
import { formatServer } from '../dns/servers.ts'
import { fingerprint } from './judge.ts'
import type { Lookup } from './lookup.ts'

/**
 * `settled`: two paths agree, or the majority does. `doubtful`: they still disagree; ask again later and report nothing.
 * `evidence`: everything that was asked, in order.
 */
export type Confirmation =
  | { kind: 'settled'; outcome: Outcome; evidence: Evidence[] }
  | { kind: 'doubtful'; evidence: Evidence[] }

export type Suspicion = {
  ask: Lookup
  first: Reply
  /** The fingerprint of what is recorded. */
  recorded: number | null
  /** How often in a row the paths disagreed before. */
  doubts: number
}

/** A failure is asked again only after a pause, so that a hiccup of the network passes. */
export const PAUSE_MS = 3_000
/** After this many disagreements in a row the majority decides. */
const MOST_DOUBTS = 3

/** Asks a suspicion again on other servers than the one that raised it, or afresh where there is only one. */
export async function confirm(
  suspicion: Suspicion,
  { dns, clock }: { dns: DnsClient; clock: Clock },
  signal: AbortSignal,
): Promise<Confirmation> {
  const replies = [suspicion.first]
  for (const servers of otherPaths(dns.servers, suspicion.first)) {
    if (replies.some(({ outcome }) => isFailure(outcome))) await clock.sleep(PAUSE_MS, signal)
    replies.push(await suspicion.ask(dns, { servers, signal }))
    const agreed = agreement(replies)
    if (agreed) return { kind: 'settled', outcome: agreed, evidence: replies.flatMap(({ evidence }) => evidence) }
  }
  const evidence = replies.flatMap(({ evidence }) => evidence)
  if (suspicion.doubts < MOST_DOUBTS) return { kind: 'doubtful', evidence }
  return { kind: 'settled', outcome: majority(replies, suspicion.recorded), evidence }
}

/** Two further paths at most: other servers first, then the same one afresh. */
function otherPaths(servers: readonly ServerAddress[], first: Reply): ServerAddress[][] {
  const asked = new Set(first.evidence.map(({ server }) => server))
  const others = servers.filter((server) => !asked.has(formatServer(server)))
  const paths = others.slice(0, 2).map((server) => [server])
  return paths.length > 0 ? paths : [[...servers]]
}

/** What two of the replies agree on. Two failures of different kinds agree that the record cannot be had. */
function agreement(replies: readonly Reply[]): Outcome | undefined {
  const last = replies.at(-1)!.outcome
  const same = replies.slice(0, -1).find(({ outcome }) => classOf(outcome) === classOf(last))
  if (same) return last
  const other = replies.slice(0, -1).find(({ outcome }) => isFailure(outcome) && isFailure(last))?.outcome
  return other && classOf(other) === 'INVALID' ? other : other && last
}

/** A good answer outweighs any failure; among good answers the most frequent one, and what is recorded where it is a tie. */
function majority(replies: readonly Reply[], recorded: number | null): Outcome {
  const good = replies.map(({ outcome }) => outcome).filter((outcome) => !isFailure(outcome))
  if (good.length === 0) return replies[0]!.outcome
  const votes = (outcome: Outcome) =>
    good.filter((other) => fingerprint(other) === fingerprint(outcome)).length +
    (fingerprint(outcome) === recorded ? 0.5 : 0)
  return good.reduce((best, each) => (votes(each) > votes(best) ? each : best))
}

function classOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'timeout':
    case 'unreachable':
      return 'TIMEOUT'
    case 'failure':
    case 'malformed':
    case 'referral':
      return 'INVALID'
    case 'lame':
      return 'BAD_SETUP'
    case 'answer':
    case 'nodata':
    case 'nxdomain':
    case 'endless_alias':
      return String(fingerprint(outcome))
  }
}

export function isFailure(outcome: Outcome): boolean {
  return ['TIMEOUT', 'INVALID', 'BAD_SETUP'].includes(classOf(outcome))
}
