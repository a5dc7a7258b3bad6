import type { Evidence } from '../dns/outcome.ts'

/** Why the verdict is what it is: one sentence, and every exchange that led to it. */
export type Diagnosis = { reason: string; paths: Evidence[] }

/** Characters of JSON; a zone can answer with far more than anyone reads. */
const MOST_CHARACTERS = 16_384
const MOST_VALUES = 20

/** The diagnosis as it is kept, within a bounded size: long RRsets are cut first, then the earliest exchanges. */
export function diagnosisText(reason: string, evidence: readonly Evidence[]): string {
  let paths = evidence.map(withFewValues)
  for (;;) {
    const text = JSON.stringify({ reason, paths } satisfies Diagnosis)
    if (text.length <= MOST_CHARACTERS || paths.length === 0) return text
    paths = paths.slice(1)
  }
}

function withFewValues(evidence: Evidence): Evidence {
  const { outcome } = evidence
  if (outcome?.kind !== 'answer' || outcome.rrset.values.length <= MOST_VALUES) return evidence
  const values = [...outcome.rrset.values.slice(0, MOST_VALUES), `… ${outcome.rrset.values.length - MOST_VALUES} more`]
  return { ...evidence, outcome: { ...outcome, rrset: { ...outcome.rrset, values } } }
}
