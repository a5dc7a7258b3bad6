import { hash } from 'node:crypto'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { CnameChain, ExtendedError, Outcome } from '../dns/outcome.ts'
import { type Difference, isMatch } from '../monitors/record-types/compare.ts'
import type { Answer } from '../monitors/record-types/record-type.ts'
import { recordTypeOf } from '../monitors/record-types/record-types.ts'
import { differenceSentence, plain } from '../monitors/record-types/wording.ts'
import { listed } from './reasons.ts'

/** What a monitor expects of its name. `expectedValues` come from `parseExpectedValues` for the same type and mode. */
export type Expectation = {
  recordType: MonitorRecordType
  expectedValues: readonly string[]
  isExactMatch: boolean
  owner: string
}

export type VerdictState = 'VALID' | 'INVALID' | 'TIMEOUT' | 'MISMATCH' | 'NOT_FOUND' | 'NO_DATA' | 'BAD_SETUP'

/** `values`: what was learned, sorted; absent where nothing was. `reason`: one plain sentence that says why. */
export type Verdict = { state: VerdictState; values?: string[]; reason: string }

/** What an outcome means for a monitor. `servers`: the zone's name servers that say so, by name. Pure. */
export function judge(expectation: Expectation, outcome: Outcome, servers: readonly string[] = []): Verdict {
  const owner = expectation.owner || '.'
  switch (outcome.kind) {
    case 'answer':
      return judgeAnswer(expectation, owner, outcome, servers)
    case 'nodata':
      return noData(owner, outcome.chain, `no ${expectation.recordType} record`)
    case 'nxdomain':
      return { state: 'NOT_FOUND', values: [], reason: `${endOf(owner, outcome.chain, 'does')} not exist (NXDOMAIN).` }
    case 'endless_alias':
      return { state: 'BAD_SETUP', reason: endlessAlias(owner, outcome.chain) }
    case 'lame':
      return { state: 'BAD_SETUP', reason: `${owner} cannot be resolved: ${outcome.reason}.` }
    case 'failure':
      if (outcome.bogus) return { state: 'INVALID', reason: `${owner} fails DNSSEC validation (${codesOf(outcome)}).` }
      return { state: 'INVALID', reason: `${owner} cannot be resolved: ${causeOf(outcome)} (${codesOf(outcome)}).` }
    case 'referral':
      return { state: 'INVALID', reason: `${owner} cannot be resolved: the name server answered with a referral.` }
    case 'malformed':
      return { state: 'INVALID', reason: `The answer for ${owner} is malformed: ${plain(outcome.reason)}.` }
    case 'timeout':
      return { state: 'TIMEOUT', reason: `${owner} timed out: no name server answered in time.` }
    case 'unreachable':
      return {
        state: 'TIMEOUT',
        reason: `${owner} cannot be resolved: no name server can be reached (${plain(outcome.reason)}).`,
      }
  }
}

/** Which expected values no record meets, and in exact mode which records nothing expects. */
export function findDifference(
  { recordType, expectedValues, isExactMatch }: Omit<Expectation, 'owner'>,
  answer: Answer,
): Difference {
  const matcher = recordTypeOf(recordType)
  return matcher.difference(expectedValues, matcher.observe(answer), isExactMatch, answer.chain)
}

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

// The rules of a check compare the same outcomes again and again.
const fingerprints = new WeakMap<Outcome, number>()

/** The fingerprint as it is recorded: that of a pool below zero, as what it answers differs without a change. */
export function writtenFingerprint(outcome: Outcome): number {
  const isPool = outcome.kind === 'answer' && outcome.pool !== undefined
  return isPool ? -fingerprint(outcome) : fingerprint(outcome)
}

export function readFingerprint(written: number | null): { recorded: number | null; isRotating: boolean } {
  const isRotating = written !== null && written < 0
  return { recorded: isRotating ? -written : written, isRotating }
}

function judgeAnswer(expectation: Expectation, owner: string, answer: Answer, servers: readonly string[]): Verdict {
  const { recordType, expectedValues, isExactMatch } = expectation
  const matcher = recordTypeOf(recordType)
  const observed = matcher.observe(answer)
  if (observed.length === 0) return noData(owner, answer.chain, `no ${recordType} record among its TXT records`)
  // RFC 7208 section 4.5: receivers treat two records as an error, whatever they say.
  if (recordType === 'SPF' && observed.length > 1) {
    return { state: 'BAD_SETUP', reason: `${owner} has ${observed.length} SPF records; only one is allowed.` }
  }
  const difference = matcher.difference(expectedValues, observed, isExactMatch, answer.chain)
  const state = isMatch(difference) ? 'VALID' : 'MISMATCH'
  return {
    state,
    values: observed,
    reason: `${speaker(owner, servers)} ${differenceSentence(observed, difference)}.`,
  }
}

/** Who gave the answer: "www.example.com answers", "The zone's name server ns1.example.com answers". */
function speaker(owner: string, servers: readonly string[]): string {
  if (servers.length === 0) return `${owner} answers`
  const [server, answer] = servers.length === 1 ? ['server', 'answers'] : ['servers', 'answer']
  return `The zone's name ${server} ${listed(servers)} ${answer}`
}

function noData(owner: string, chain: CnameChain, what: string): Verdict {
  return { state: 'NO_DATA', values: [], reason: `${endOf(owner, chain, 'exists but has')} ${what}.` }
}

/** The name at the end of the chain is the one that a missing record is about. RFC 2308 section 2.1. */
function endOf(owner: string, chain: CnameChain, verb: string): string {
  const end = chain.at(-1)?.target
  return end === undefined ? `${owner} ${verb}` : `${owner} points to ${end || '.'} (CNAME), which ${verb}`
}

function endlessAlias(owner: string, chain: CnameChain): string {
  const names = [owner, ...chain.map((alias) => alias.target)]
  const loops = new Set(names).size < names.length
  const path = names.slice(0, 5).join(' → ')
  const detail = names.length > 5 ? `${path} → …` : path
  return loops ? `CNAME loop at ${owner} (${detail}).` : `The CNAME chain of ${owner} is too long (${detail}).`
}

const NO_REACHABLE_AUTHORITY = 22 // RFC 8914 section 4.23

function causeOf({ rcode, ede }: { rcode: string; ede: ExtendedError[] }): string {
  if (ede.some(({ code }) => code === NO_REACHABLE_AUTHORITY)) return 'no name server of the zone can be reached'
  return rcode === 'REFUSED' ? 'the name server refuses the query' : 'the query failed'
}

/** The codes behind a cause: "SERVFAIL, EDE 7: signature expired". */
function codesOf({ rcode, ede }: { rcode: string; ede: ExtendedError[] }): string {
  const errors = ede.slice(0, 3).map(({ code, text }) => `EDE ${code}${text === '' ? '' : `: ${plain(text)}`}`)
  return [rcode, ...errors].join(', ')
}

function facts(outcome: Outcome): unknown[] {
  switch (outcome.kind) {
    case 'answer':
      return [outcome.kind, outcome.rrset.type, [...new Set(outcome.rrset.values)].sort(), path(outcome)]
    case 'nodata':
    case 'nxdomain':
    case 'endless_alias':
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
function path({ rrset, chain }: Answer): string[] {
  return rrset.type === 'CNAME' ? chain.flatMap(({ name, target }) => [name, target]) : []
}
