import type { DiagnosisPath, DnsOutcome } from '#contract/diagnosis.ts'
import type { ConfirmationReason, VerdictReason } from '#contract/reasons.ts'
import type { Evidence, Outcome } from '../dns/outcome.ts'
import type { StoredDiagnosis } from '../monitors/diagnosis.ts'
import type { Observation } from './check.ts'
import { fingerprint } from './fingerprint.ts'
import type { Decided } from './reasons.ts'

/** An exchange and when it began, in UTC epoch milliseconds. */
export type DatedEvidence = Evidence & { at: number }

/**
 * Every exchange that a verdict may rest on, in order. Of many like answers of one server only the first is kept, so that the
 * list stays readable however often it was asked.
 */
export function evidenceOf(observations: readonly Observation[]): DatedEvidence[] {
  const kept: DatedEvidence[] = []
  for (const observation of observations) {
    const { query, at } = observation
    const reply = 'reply' in observation ? observation.reply : 'zone' in observation ? observation.zone : undefined
    if (!reply || query.purpose === 'resolver_delegation') continue
    if (query.purpose === 'each_link' && reply.outcome.kind !== 'cname_loop') continue
    const isRepeated = query.purpose !== 'first' && query.purpose !== 'again'
    let startedAt = at - reply.evidence.reduce((sum, { ms }) => sum + ms, 0)
    for (const exchange of reply.evidence) {
      const dated = { ...exchange, at: Math.round(startedAt) }
      startedAt += exchange.ms
      if (!isRepeated || !kept.some((one) => isAlike(one, exchange))) kept.push(dated)
    }
  }
  return kept
}

function isAlike(one: Evidence, other: Evidence): boolean {
  return (
    one.server === other.server &&
    one.transport === other.transport &&
    one.rcode === other.rcode &&
    one.outcome !== null &&
    other.outcome !== null &&
    fingerprint(one.outcome) === fingerprint(other.outcome) &&
    one.outcome.kind === other.outcome.kind
  )
}

/** Characters of JSON, and of those that reasons may take: a zone can answer with far more than anyone reads. */
const MOST_CHARACTERS = 14_336
const MOST_CHARACTERS_OF_REASON = 5_000

/** How much of each exchange is kept; the next one where that is still too much. */
type Measure = { values: number; characters: number; links: number; errors: number }
const MEASURES: [Measure, ...Measure[]] = [
  { values: 20, characters: 500, links: 17, errors: 8 },
  { values: 5, characters: 120, links: 8, errors: 2 },
  { values: 1, characters: 60, links: 2, errors: 1 },
]

/** Of the two parts of a diagnosis that has a later confirmation. */
const MOST_CHARACTERS_EACH = MOST_CHARACTERS / 2

/** Within a bounded size: first each exchange is shortened, then those in the middle are left out. `at`: UTC epoch milliseconds. */
export function newDiagnosis(
  { reason, decided, at }: { reason: VerdictReason; decided: Decided; at: number },
  evidence: readonly DatedEvidence[],
): StoredDiagnosis {
  const verdict = shortReason(reason)
  return within(MOST_CHARACTERS, evidence, (paths) => ({ verdict, ...confirmed(decided, at), paths }))
}

/** The diagnosis with a later check that changed nothing. `before` is the one that was kept. */
export function withLatest(
  before: StoredDiagnosis,
  { decided, at }: { decided: Decided; at: number },
  evidence: readonly DatedEvidence[],
): StoredDiagnosis {
  const { latest: _, ...own } = before
  const kept = { ...own, paths: [...own.paths] }
  while (kept.paths.length > 2 && JSON.stringify(kept).length > MOST_CHARACTERS_EACH) {
    kept.paths.splice(Math.floor(kept.paths.length / 2), 1)
  }
  const capacity = MOST_CHARACTERS - JSON.stringify(kept).length - 20
  const latest = within(capacity, evidence, (paths) => ({ ...confirmed(decided, at), paths }))
  return { ...kept, latest }
}

const confirmed = (decided: Decided, at: number) => ({
  confirmation: decided.map(shortReason),
  at: new Date(at).toISOString(),
})

/** How much of each list and each text of a reason is kept; the next one where that is still too much. */
const REASON_MEASURES = [
  { entries: 20, characters: 1_000 },
  { entries: 10, characters: 200 },
  { entries: 5, characters: 120 },
  { entries: 1, characters: 60 },
]

/** The reason within a bounded size; what was shortened is marked. */
export function shortReason<R extends VerdictReason | ConfirmationReason>(reason: R): R {
  let short = reason
  for (const measure of REASON_MEASURES) {
    const params = shortenedValue(reason.params, measure) as R['params']
    if (JSON.stringify(params) !== JSON.stringify(reason.params)) {
      short = { ...reason, params: { ...params, truncated: true } }
    }
    if (JSON.stringify(short).length <= MOST_CHARACTERS_OF_REASON) break
  }
  return short
}

function shortenedValue(value: unknown, measure: (typeof REASON_MEASURES)[number]): unknown {
  if (typeof value === 'string') return cut(value, measure)
  if (Array.isArray(value)) return value.slice(0, measure.entries).map((each) => shortenedValue(each, measure))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shortenedValue(each, measure)]))
}

function within<T>(characters: number, evidence: readonly DatedEvidence[], build: (paths: DiagnosisPath[]) => T): T {
  const isWithin = (paths: DiagnosisPath[]) => JSON.stringify(build(paths)).length <= characters
  let paths: DiagnosisPath[] = []
  for (const measure of MEASURES) {
    paths = evidence.map((each) => pathOf(each, measure))
    if (isWithin(paths)) return build(paths)
  }
  while (paths.length > 0 && !isWithin(paths)) paths.splice(Math.floor(paths.length / 2), 1)
  return build(paths)
}

function pathOf(evidence: DatedEvidence, measure: Measure): DiagnosisPath {
  const ede = evidence.ede.slice(0, measure.errors).map(({ code, text }) => ({ code, text: cut(text, measure) }))
  const outcome = evidence.outcome && shortened(evidence.outcome, measure)
  const { flags, path = 'recursive' } = evidence
  return { ...evidence, at: new Date(evidence.at).toISOString(), flags: [...flags], path, ede, outcome }
}

function shortened(outcome: Outcome, measure: Measure): DnsOutcome {
  switch (outcome.kind) {
    case 'answer':
      return {
        ...outcome,
        rrset: { ...outcome.rrset, values: fewOf(outcome.rrset.values, measure) },
        chain: outcome.chain.slice(0, measure.links),
      }
    case 'referral': {
      const { zone, ...beside } = outcome
      const named = zone === undefined ? {} : { zone }
      return { ...beside, ...named, nameServers: fewOf(outcome.nameServers, measure), glue: [] }
    }
    case 'lame':
      return { ...outcome, nameServers: fewOf(outcome.nameServers, measure) }
    case 'failure':
      return { ...outcome, ede: [] } // the exchange has it already
    case 'nodata':
    case 'nxdomain':
    case 'cname_loop':
      return { ...outcome, chain: outcome.chain.slice(0, measure.links) }
    case 'malformed':
    case 'timeout':
    case 'unreachable':
      return outcome
  }
}

function fewOf(values: readonly string[], measure: Measure): string[] {
  const shown = values.slice(0, measure.values).map((text) => cut(text, measure))
  return values.length > shown.length ? [...shown, `… ${values.length - shown.length} more`] : shown
}

function cut(text: string, { characters }: Pick<Measure, 'characters'>): string {
  return text.length > characters ? `${text.slice(0, characters).toWellFormed()}…` : text
}
