import type { Evidence, Outcome } from '../dns/outcome.ts'

/** Why the verdict is what it is, how it was reached, each in a sentence, and every exchange that led to it. */
export type Diagnosis = { reason: string; decided: string; paths: DiagnosisPath[] }

export type DiagnosisPath = Omit<Evidence, 'path'> & { path: 'recursive' | 'authoritative' }

/** Characters of JSON; a zone can answer with far more than anyone reads. */
const MOST_CHARACTERS = 16_384
const MOST_VALUES = 20
const MOST_TEXT = 500

/**
 * The diagnosis as it is kept, within a bounded size: long RRsets are cut first, then exchanges out of the middle. What
 * raised the suspicion stands first and what settled it last.
 */
export function diagnosisText(reason: string, decided: string, evidence: readonly Evidence[]): string {
  const paths = evidence.map(pathOf)
  for (;;) {
    const text = JSON.stringify({ reason, decided, paths } satisfies Diagnosis)
    if (text.length <= MOST_CHARACTERS || paths.length === 0) return text
    paths.splice(Math.floor(paths.length / 2), 1)
  }
}

function pathOf(evidence: Evidence): DiagnosisPath {
  return { ...evidence, path: evidence.path ?? 'recursive', outcome: evidence.outcome && shortened(evidence.outcome) }
}

function shortened(outcome: Outcome): Outcome {
  switch (outcome.kind) {
    case 'answer':
      return { ...outcome, rrset: { ...outcome.rrset, values: fewOf(outcome.rrset.values) } }
    case 'referral':
      return { ...outcome, nameServers: fewOf(outcome.nameServers), glue: [] }
    case 'lame':
      return { ...outcome, nameServers: fewOf(outcome.nameServers) }
    case 'nodata':
    case 'nxdomain':
    case 'failure':
    case 'endless_alias':
    case 'malformed':
    case 'timeout':
    case 'unreachable':
      return outcome
  }
}

function fewOf(values: readonly string[]): string[] {
  const shown = values
    .slice(0, MOST_VALUES)
    .map((text) => (text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text))
  return values.length > MOST_VALUES ? [...shown, `… ${values.length - MOST_VALUES} more`] : shown
}
