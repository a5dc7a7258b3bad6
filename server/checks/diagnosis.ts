import type { Evidence, Outcome } from '../dns/outcome.ts'

/** Why the verdict is what it is, how it was reached, each in a sentence, and every exchange that led to it. */
export type Diagnosis = { reason: string; decided: string; paths: DiagnosisPath[] }

export type DiagnosisPath = Omit<Evidence, 'path'> & { path: 'recursive' | 'authoritative' }

/** Characters of JSON; a zone can answer with far more than anyone reads. */
const MOST_CHARACTERS = 16_384

/** How much of each exchange is kept; the next one where that is still too much. */
type Measure = { values: number; characters: number; links: number; errors: number }
const MEASURES: [Measure, ...Measure[]] = [
  { values: 20, characters: 500, links: 17, errors: 8 },
  { values: 5, characters: 120, links: 8, errors: 2 },
  { values: 1, characters: 60, links: 2, errors: 1 },
]

/**
 * The diagnosis as it is kept, within a bounded size: first each exchange is cut, then those in the middle go. What raised the
 * suspicion stands first and what settled it last.
 */
export function diagnosisText(reason: string, decided: string, evidence: readonly Evidence[]): string {
  const textOf = (paths: DiagnosisPath[]) => JSON.stringify({ reason, decided, paths } satisfies Diagnosis)
  let paths: DiagnosisPath[] = []
  for (const measure of MEASURES) {
    paths = evidence.map((each) => pathOf(each, measure))
    const text = textOf(paths)
    if (text.length <= MOST_CHARACTERS) return text
  }
  while (paths.length > 0 && textOf(paths).length > MOST_CHARACTERS) paths.splice(Math.floor(paths.length / 2), 1)
  return textOf(paths)
}

function pathOf(evidence: Evidence, measure: Measure): DiagnosisPath {
  const ede = evidence.ede.slice(0, measure.errors).map(({ code, text }) => ({ code, text: cut(text, measure) }))
  const outcome = evidence.outcome && shortened(evidence.outcome, measure)
  return { ...evidence, path: evidence.path ?? 'recursive', ede, outcome }
}

function shortened(outcome: Outcome, measure: Measure): Outcome {
  switch (outcome.kind) {
    case 'answer':
      return {
        ...outcome,
        rrset: { ...outcome.rrset, values: fewOf(outcome.rrset.values, measure) },
        chain: outcome.chain.slice(0, measure.links),
      }
    case 'referral':
      return { ...outcome, nameServers: fewOf(outcome.nameServers, measure), glue: [] }
    case 'lame':
      return { ...outcome, nameServers: fewOf(outcome.nameServers, measure) }
    case 'failure':
      return { ...outcome, ede: [] } // it stands beside the outcome already
    case 'nodata':
    case 'nxdomain':
    case 'endless_alias':
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

function cut(text: string, { characters }: Measure): string {
  return text.length > characters ? `${text.slice(0, characters).toWellFormed()}…` : text
}
