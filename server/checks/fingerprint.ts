import { hash } from 'node:crypto'
import type { Outcome } from '../dns/outcome.ts'
import type { Answer } from '../monitors/record-types/record-type.ts'

/**
 * A whole number below 2^52 that stands for all facts of an outcome that a judgement rests on. Equal fingerprints have the
 * same state and values under every expectation; only a reason's details may differ. TTL, order, EDE, timings and, but for
 * CNAME, the way over aliases do not count.
 */
export function fingerprint(outcome: Outcome): number {
  const known = fingerprints.get(outcome)
  if (known !== undefined) return known
  const found = Number.parseInt(hash('sha1', JSON.stringify(facts(outcome))).slice(0, 13), 16)
  fingerprints.set(outcome, found)
  return found
}

/** The answer as all members of a rotating RRset; its fingerprint is the same. */
export function asRotating(answer: Answer): Answer {
  const pool: Answer = { ...answer, pool: 'whole' }
  fingerprints.set(pool, fingerprint(answer))
  return pool
}

// The rules of a check compare the same outcomes again and again.
const fingerprints = new WeakMap<Outcome, number>()

/** The fingerprint as it is recorded: that of a pool below zero, as what it answers differs without a change. */
export function storedFingerprint(outcome: Outcome): number {
  const isPool = outcome.kind === 'answer' && outcome.pool !== undefined
  return isPool ? -fingerprint(outcome) : fingerprint(outcome)
}

export function parseStoredFingerprint(written: number | null): { recorded: number | null; isRotating: boolean } {
  const isRotating = written !== null && written < 0
  return { recorded: isRotating ? -written : written, isRotating }
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

// Only a flexible CNAME is met by names on the way; elsewhere a provider may change it with every answer.
function chainNames({ rrset, chain }: Answer): string[] {
  return rrset.type === 'CNAME' ? chain.flatMap(({ name, target }) => [name, target]) : []
}
