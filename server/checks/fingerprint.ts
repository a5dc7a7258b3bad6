import { hash } from 'node:crypto'
import type { Outcome } from '../dns/outcome.ts'
import type { Answer } from '../record-types/record-type.ts'

/**
 * A hash of the facts of an outcome that a verdict depends on, as an integer below 2^52. Outcomes with equal fingerprints have
 * the same state and values for every monitor; only details of the reason may differ. TTL, order, EDE, timings and, except for
 * CNAME, the CNAME chain do not count.
 */
export function fingerprint(outcome: Outcome): number {
  const cached = fingerprints.get(outcome)
  if (cached !== undefined) return cached
  const computed = Number.parseInt(hash('sha1', JSON.stringify(facts(outcome))).slice(0, 13), 16)
  fingerprints.set(outcome, computed)
  return computed
}

/** The answer as the whole of a rotating RRset. Its fingerprint is the same. */
export function asRotating(answer: Answer): Answer {
  const rotating: Answer = { ...answer, pool: 'whole' }
  fingerprints.set(rotating, fingerprint(answer))
  return rotating
}

// The rules compare the same outcomes many times.
const fingerprints = new WeakMap<Outcome, number>()

/** The fingerprint as it is stored: negative for a rotating RRset. */
export function storedFingerprint(outcome: Outcome): number {
  const isRotating = outcome.kind === 'answer' && outcome.pool !== undefined
  return isRotating ? -fingerprint(outcome) : fingerprint(outcome)
}

export function parseStoredFingerprint(stored: number | null): { recorded: number | null; isRotating: boolean } {
  const isRotating = stored !== null && stored < 0
  return { recorded: isRotating ? -stored : stored, isRotating }
}

function facts(outcome: Outcome): unknown[] {
  switch (outcome.kind) {
    case 'answer':
      return [outcome.kind, outcome.rrset.type, [...new Set(outcome.rrset.values)].sort(), chainNames(outcome)]
    case 'nodata':
    case 'nxdomain':
    case 'cname_loop':
    case 'lame':
      return [outcome.kind]
    case 'failure':
    case 'referral':
    case 'malformed':
      return ['INVALID']
    case 'timeout':
    case 'unreachable':
      return ['TIMEOUT']
  }
}

// The chain counts only for CNAME in flexible mode. Elsewhere a provider may change it with every answer.
function chainNames({ rrset, chain }: Answer): string[] {
  return rrset.type === 'CNAME' ? chain.flatMap(({ name, target }) => [name, target]) : []
}
