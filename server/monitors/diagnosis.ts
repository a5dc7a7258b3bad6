import type { Diagnosis, DiagnosisPath } from '#contract/diagnosis.ts'
import { type Difference, differenceOf } from '#contract/difference.ts'
import { type ConfirmationReason, shown, textOf, type VerdictReason } from '#contract/reasons.ts'

type Confirmation = { confirmation: ConfirmationReason[]; at?: string; paths: DiagnosisPath[] }

/** A diagnosis as the database holds it: codes and parameters, without texts. */
export type StoredDiagnosis = { verdict: VerdictReason } & Confirmation & { latest?: Confirmation }

/** Before there were codes, only the texts were stored. */
type OlderConfirmation = { decided?: string; at?: string; paths?: DiagnosisPath[] }
type OlderDiagnosis = { reason?: string } & OlderConfirmation & { latest?: OlderConfirmation }

export function readDiagnosis(json: string): StoredDiagnosis {
  const stored: StoredDiagnosis | OlderDiagnosis = JSON.parse(json)
  if ('verdict' in stored) return stored
  const { reason = '', latest, ...confirmation } = stored as OlderDiagnosis
  return {
    verdict: { code: 'unclassified', params: { text: reason } },
    ...confirmed(confirmation),
    ...(latest && { latest: confirmed(latest) }),
  }
}

function confirmed({ decided = '', paths = [], ...beside }: OlderConfirmation): Confirmation {
  return { confirmation: [{ code: 'unclassified', params: { text: decided } }], ...beside, paths }
}

/** The representation, with the texts. */
export function toDiagnosis(json: string): Diagnosis {
  const { verdict, latest, ...confirmation } = readDiagnosis(json)
  return {
    reason: textOf(verdict),
    verdict: shown(verdict),
    ...shownConfirmation(confirmation),
    ...(latest && { latest: shownConfirmation(latest) }),
  }
}

function shownConfirmation({ confirmation, ...beside }: Confirmation) {
  return { decided: confirmation.map(textOf).join(' '), confirmation: confirmation.map(shown), ...beside }
}

/** Why the monitor is in its state; null until a check ended. */
export function toReason(json: string | null | undefined): (VerdictReason & { text: string }) | null {
  return json ? shown(readDiagnosis(json).verdict) : null
}

/** What is different from the expected values; null until a check ended, and where it learned no values. */
export function toDifference(json: string | null | undefined): Difference | null {
  return json ? differenceOf(readDiagnosis(json).verdict) : null
}
