import type { Clock } from '../clock.ts'
import type { Canaries } from '../dns/canaries.ts'
import type { DnsClient } from '../dns/client.ts'
import type { Authorities } from '../dns/delegation/authorities.ts'
import type { Evidence, Outcome, Reply, ServerAddress } from '../dns/outcome.ts'
import { parseServerAddress } from '../dns/servers.ts'
import { fingerprint } from './judge.ts'
import type { Lookup } from './lookup.ts'
import { WORDS } from './wording.ts'

/** Without `authorities` recursive servers decide alone; without `canaries` our own network is held to work. */
export type CheckDoors = {
  dns: DnsClient
  clock: Clock
  authorities?: Authorities | undefined
  canaries?: Canaries | undefined
}

export type Suspicion = {
  ask: Lookup
  owner: string
  first: Reply
  /** The fingerprint of what is recorded, and whether that is a pool. */
  recorded: number | null
  isPool: boolean
  /** How often in a row the paths disagreed before. */
  doubts: number
}

/**
 * `settled`: the paths agree, or the majority does; `decided` says in one sentence how, `witnesses` are the zone's name
 * servers that say it. `doubtful`: they still disagree; ask again later and report nothing. `withheld`: our own network is
 * at fault, so nothing is known. `evidence`: everything that was asked, in order.
 */
export type Confirmation =
  | { kind: 'settled'; outcome: Outcome; evidence: Evidence[]; witnesses: string[]; decided: string }
  | { kind: 'doubtful'; evidence: Evidence[] }
  | { kind: 'withheld'; evidence: Evidence[] }

/** One suspicion while it is being confirmed. `evidence` grows with every question; `aside`: why the zone was not heard. */
export type Hearing = {
  suspicion: Suspicion
  doors: CheckDoors
  signal: AbortSignal
  evidence: Evidence[]
  aside: string | undefined
}

/** After this many disagreements in a row the majority decides. */
export const MOST_DOUBTS = 3
/** A failure is asked again only after a pause, so that a hiccup of the network passes. */
export const PAUSE_MS = 3_000

export function settled(
  { evidence }: Hearing,
  outcome: Outcome,
  decided: string,
  witnesses: string[] = [],
): Confirmation {
  return { kind: 'settled', outcome, evidence, witnesses, decided }
}

export function doubtful({ evidence }: Hearing): Confirmation {
  return { kind: 'doubtful', evidence }
}

/** Servers that now answer and now deny: a machine among them is bad, or a change is on its way. */
export function wavering(hearing: Hearing, outcome: Outcome): Confirmation {
  return hearing.suspicion.doubts < MOST_DOUBTS ? doubtful(hearing) : settled(hearing, outcome, WORDS.wavering)
}

/** Part of a pool may show alone by luck: members are given more and less often. */
export function isSeldomMember({ suspicion }: Hearing, steady: Outcome): boolean {
  return suspicion.isPool && suspicion.doubts < MOST_DOUBTS && fingerprint(steady) !== suspicion.recorded
}

export function withheld({ evidence }: Hearing): Confirmation {
  return { kind: 'withheld', evidence }
}

/** Keeps of many like answers the first, so that evidence stays readable however often a server was asked. */
export function addEvidence(hearing: Hearing, more: readonly Evidence[]): void {
  for (const each of more) {
    if (!hearing.evidence.some((one) => isAlike(one, each))) hearing.evidence.push(each)
  }
}

/** The recursive server that gave the answer. */
export function serverOf({ evidence }: Reply): ServerAddress[] {
  const parsed = parseServerAddress(evidence.at(-1)?.server ?? '')
  return parsed.ok ? [parsed.server] : []
}

function isAlike(one: Evidence, other: Evidence): boolean {
  return (
    one.server === other.server &&
    one.transport === other.transport &&
    one.rcode === other.rcode &&
    one.outcome !== null &&
    other.outcome !== null &&
    one.outcome.kind === other.outcome.kind &&
    fingerprint(one.outcome) === fingerprint(other.outcome)
  )
}
