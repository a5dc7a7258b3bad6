import type { Delegation, DiagnosisPath, DnsOutcome } from '#contract/diagnosis.ts'
import type { ConfirmationReason, VerdictReason } from '#contract/reasons.ts'
import type { Warning } from '#contract/warnings.ts'
import type { Exchange, Outcome, Question } from '../dns/outcome.ts'
import { delegationKey } from '../dns/resolver/zone-view.ts'
import type { StoredDiagnosis } from '../monitors/diagnosis.ts'
import { truncate } from '../text.ts'
import type { Observation } from './check-state.ts'
import { fingerprint } from './fingerprint.ts'
import type { Confirmation } from './reasons.ts'

/** `at`: when the exchange began, in UTC epoch milliseconds. */
export type TimestampedExchange = Exchange & { at: number }

/** Every exchange that a verdict may rest on, in order. Repeated queries add only answers that a server has not given before. */
export function evidenceOf(observations: readonly Observation[]): TimestampedExchange[] {
  const evidence: TimestampedExchange[] = []
  for (const observation of observations) {
    const { query, at } = observation
    const reply =
      'reply' in observation
        ? observation.reply
        : 'nameServerReply' in observation
          ? observation.nameServerReply
          : 'nsReply' in observation
            ? observation.nsReply
            : undefined
    if (!reply) continue
    if (query.purpose === 'cname_links' && reply.outcome.kind !== 'cname_loop') continue
    const isRepeated = query.purpose !== 'first' && query.purpose !== 'retry'
    let startedAt = at - reply.evidence.reduce((sum, { ms }) => sum + ms, 0)
    for (const exchange of reply.evidence) {
      const dated = { ...exchange, at: Math.round(startedAt) }
      startedAt += exchange.ms
      if (!isRepeated || !evidence.some((earlier) => isEquivalent(earlier, exchange))) evidence.push(dated)
    }
  }
  return evidence
}

/** How many names of each kind are stored, and of how many different delegations. If that is too long, the next entry applies. */
const DELEGATION_LIMITS = [
  { names: 13, delegations: 3 },
  { names: 4, delegations: 2 },
  { names: 2, delegations: 1 },
]
const MAX_DELEGATION_CHARACTERS = 2_000
const MAX_NAME_CHARACTERS = 100

/** What the servers above the zone said in this check. Undefined if none was asked, or none answered. */
export function delegationOf(observations: readonly Observation[]): Delegation | undefined {
  const observation = observations.findLast((one) => 'view' in one)
  const view = observation && 'view' in observation ? observation.view : undefined
  if (!view || view.isUnknown || view.parents.length === 0) return undefined
  const groups = [...Map.groupBy(view.parents, ({ nameServers }) => delegationKey(nameServers)).values()]
  groups.sort((one, other) => other.length - one.length)
  let delegation: Delegation | undefined
  for (const limits of DELEGATION_LIMITS) {
    let isTruncated = groups.length > limits.delegations
    const shorten = (names: readonly string[]) => {
      isTruncated ||= names.length > limits.names
      return names.slice(0, limits.names).map((name) => truncate(name, MAX_NAME_CHARACTERS))
    }
    delegation = {
      zone: truncate(view.zone, MAX_NAME_CHARACTERS),
      parent: truncate(view.parentZone, MAX_NAME_CHARACTERS),
      parents: groups.slice(0, limits.delegations).map((group) => ({
        servers: shorten(group.map(({ server }) => server)),
        name_servers: group[0]!.nameServers && shorten(group[0]!.nameServers),
      })),
      own_name_servers: view.ownNameServers && shorten(view.ownNameServers),
    }
    if (isTruncated) delegation.truncated = true
    if (JSON.stringify(delegation).length <= MAX_DELEGATION_CHARACTERS) break
  }
  return delegation
}

function isEquivalent(one: Exchange, other: Exchange): boolean {
  return (
    one.server === other.server &&
    one.transport === other.transport &&
    isSameQuestion(one.question, other.question) &&
    one.rcode === other.rcode &&
    one.outcome !== null &&
    other.outcome !== null &&
    fingerprint(one.outcome) === fingerprint(other.outcome) &&
    one.outcome.kind === other.outcome.kind
  )
}

function isSameQuestion(one: Question | undefined, other: Question | undefined): boolean {
  return one?.name === other?.name && one?.type === other?.type
}

/** Of the diagnosis as JSON: a zone can answer with more than anyone reads. */
const MAX_CHARACTERS = 14_336
const MAX_REASON_CHARACTERS = 5_000

/** How much of each exchange is stored. If the diagnosis is too long, the next entry applies. */
type ExchangeLimits = { values: number; characters: number; links: number; errors: number }
const EXCHANGE_LIMITS: [ExchangeLimits, ...ExchangeLimits[]] = [
  { values: 20, characters: 500, links: 17, errors: 8 },
  { values: 5, characters: 120, links: 8, errors: 2 },
  { values: 1, characters: 60, links: 2, errors: 1 },
]

/** Each half of a diagnosis: the check that changed the state, and the latest one. */
const MAX_PART_CHARACTERS = MAX_CHARACTERS / 2

/** If it is too long, each exchange is shortened first, then exchanges in the middle are left out. `at`: UTC epoch milliseconds. */
export function newDiagnosis(
  { reason, warnings = [], hasOwnView, ...reached }: { reason: VerdictReason } & Reached,
  evidence: readonly TimestampedExchange[],
): StoredDiagnosis {
  const verdict = shortenReason(reason)
  return fitWithin(MAX_CHARACTERS, evidence, (paths) => ({
    ...{ verdict, ...confirmationAt(reached), paths },
    ...(warnings.length > 0 && { warnings }),
    ...(hasOwnView === true && { hasOwnView }),
  }))
}

type Reached = {
  confirmation: Confirmation
  at: number
  delegation?: Delegation | undefined
  warnings?: Warning[]
  hasOwnView?: boolean | undefined
}

/** The diagnosis of a monitor that has no verdict yet. */
export function pendingDiagnosis(
  { name, nextAt, ...reached }: { name: string; nextAt: number | undefined } & Reached,
  evidence: readonly TimestampedExchange[],
): StoredDiagnosis {
  const before = newDiagnosis({ ...reached, reason: { code: 'not_certain', params: { name } }, warnings: [] }, [])
  return withLatest(before, { ...reached, nextAt }, evidence)
}

/** The diagnosis with a later check that changed nothing. `before`: the stored one. */
export function withLatest(
  before: StoredDiagnosis,
  { warnings = [], nextAt, hasOwnView, ...reached }: Reached & { nextAt?: number | undefined },
  evidence: readonly TimestampedExchange[],
): StoredDiagnosis {
  const { latest: _, warnings: __, nextAt: ___, hasOwnView: ____, ...verdict } = { ...before, paths: [...before.paths] }
  const diagnosis = {
    ...verdict,
    ...(warnings.length > 0 && { warnings }),
    ...(nextAt !== undefined && { nextAt: new Date(nextAt).toISOString() }),
    ...((hasOwnView ?? before.hasOwnView) === true && { hasOwnView: true as const }),
  }
  while (diagnosis.paths.length > 2 && JSON.stringify(diagnosis).length > MAX_PART_CHARACTERS) {
    removeMiddle(diagnosis.paths)
  }
  const capacity = MAX_CHARACTERS - JSON.stringify(diagnosis).length - 20
  const latest = fitWithin(capacity, evidence, (paths) => ({ ...confirmationAt(reached), paths }))
  return { ...diagnosis, latest }
}

const confirmationAt = ({ confirmation, at, delegation }: Reached) => ({
  confirmation: confirmation.map(shortenReason),
  at: new Date(at).toISOString(),
  ...(delegation && { delegation }),
})

/** How much of each list and each text of a reason is stored. If the reason is too long, the next entry applies. */
const REASON_LIMITS = [
  { entries: 20, characters: 1_000 },
  { entries: 10, characters: 200 },
  { entries: 5, characters: 120 },
  { entries: 1, characters: 60 },
]

/** Marks a shortened reason with `truncated`. */
export function shortenReason<R extends VerdictReason | ConfirmationReason>(reason: R): R {
  let short = reason
  for (const limits of REASON_LIMITS) {
    const params = shortenValue(reason.params, limits) as R['params']
    if (JSON.stringify(params) !== JSON.stringify(reason.params)) {
      short = { ...reason, params: { ...params, truncated: true } }
    }
    if (JSON.stringify(short).length <= MAX_REASON_CHARACTERS) break
  }
  return short
}

function shortenValue(value: unknown, limits: (typeof REASON_LIMITS)[number]): unknown {
  if (typeof value === 'string') return truncate(value, limits.characters)
  if (Array.isArray(value)) return value.slice(0, limits.entries).map((entry) => shortenValue(entry, limits))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, shortenValue(entry, limits)]))
}

function fitWithin<T>(
  characters: number,
  evidence: readonly TimestampedExchange[],
  build: (paths: DiagnosisPath[]) => T,
): T {
  const fits = (paths: DiagnosisPath[]) => JSON.stringify(build(paths)).length <= characters
  let paths: DiagnosisPath[] = []
  for (const limits of EXCHANGE_LIMITS) {
    paths = evidence.map((exchange) => toDiagnosisPath(exchange, evidence[0]!.question, limits))
    if (fits(paths)) break
  }
  while (paths.length > 0 && !fits(paths)) removeMiddle(paths)
  return build(paths)
}

function removeMiddle(paths: unknown[]): void {
  paths.splice(Math.floor(paths.length / 2), 1)
}

/** `asked`: the question of the monitor, which the paths do not repeat. */
function toDiagnosisPath(
  { question, ...exchange }: TimestampedExchange,
  asked: Question | undefined,
  limits: ExchangeLimits,
): DiagnosisPath {
  const { at, flags, path = 'recursive', ede, outcome } = exchange
  return {
    ...exchange,
    ...(question && !isSameQuestion(question, asked) ? { question } : {}),
    at: new Date(at).toISOString(),
    flags: [...flags],
    path,
    ede: ede.slice(0, limits.errors).map(({ code, text }) => ({ code, text: truncate(text, limits.characters) })),
    outcome: outcome && shortenOutcome(outcome, limits),
  }
}

function shortenOutcome(outcome: Outcome, limits: ExchangeLimits): DnsOutcome {
  switch (outcome.kind) {
    case 'answer': {
      const rrset = { ...outcome.rrset, values: shortenValues(outcome.rrset.values, limits) }
      return { ...outcome, rrset, chain: outcome.chain.slice(0, limits.links) }
    }
    case 'referral': {
      const { zone, ...referral } = outcome
      const nameServers = shortenValues(outcome.nameServers, limits)
      return { ...referral, ...(zone === undefined ? {} : { zone }), nameServers, glue: [] }
    }
    case 'lame':
      return { ...outcome, nameServers: shortenValues(outcome.nameServers, limits) }
    case 'failure':
      return { ...outcome, ede: [] } // the exchange has them already
    case 'nodata':
    case 'nxdomain':
    case 'cname_loop':
      return { ...outcome, chain: outcome.chain.slice(0, limits.links) }
    case 'malformed':
    case 'timeout':
    case 'unreachable':
      return outcome
  }
}

function shortenValues(values: readonly string[], limits: ExchangeLimits): string[] {
  const first = values.slice(0, limits.values).map((text) => truncate(text, limits.characters))
  return values.length > first.length ? [...first, `… ${values.length - first.length} more`] : first
}
