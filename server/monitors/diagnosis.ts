import { adviceFor } from '#contract/advice.ts'
import type { Delegation, Diagnosis, DiagnosisPath } from '#contract/diagnosis.ts'
import { type Difference, differenceOf } from '#contract/difference.ts'
import { type ConfirmationReason, shown, textOf, type VerdictReason } from '#contract/reasons.ts'
import { shownWarning, type Warning } from '#contract/warnings.ts'

type Confirmation = {
  confirmation: ConfirmationReason[]
  at?: string
  delegation?: Delegation
  paths: DiagnosisPath[]
}

/** A diagnosis in the database: codes and parameters, without texts. */
/**
 * `nextAt`: when the check is repeated, if the latest one was inconclusive. `hasOwnView`: the resolvers decided, because they see another
 * zone than the public one.
 */
export type StoredDiagnosis = { verdict: VerdictReason } & Confirmation & {
    latest?: Confirmation
    warnings?: Warning[]
    nextAt?: string
    hasOwnView?: true
  }

/** Older versions stored texts instead of codes. */
type OlderConfirmation = { decided?: string; at?: string; paths?: DiagnosisPath[] }
type OlderDiagnosis = { reason?: string } & OlderConfirmation & { latest?: OlderConfirmation }

export function readDiagnosis(json: string): StoredDiagnosis {
  const stored: StoredDiagnosis | OlderDiagnosis = JSON.parse(json)
  if ('verdict' in stored) return stored
  const { reason = '', latest, ...confirmation } = stored as OlderDiagnosis
  return {
    verdict: { code: 'unclassified', params: { text: reason } },
    ...upgradeConfirmation(confirmation),
    ...(latest && { latest: upgradeConfirmation(latest) }),
  }
}

function upgradeConfirmation({ decided = '', paths = [], ...others }: OlderConfirmation): Confirmation {
  return { confirmation: [{ code: 'unclassified', params: { text: decided } }], ...others, paths }
}

/** The diagnosis in a response, with texts. */
export const toDiagnosis = (json: string): Diagnosis => diagnosisResponse(readDiagnosis(json))

export function diagnosisResponse({
  verdict,
  latest,
  warnings = [],
  nextAt,
  hasOwnView: _,
  ...confirmation
}: StoredDiagnosis): Diagnosis {
  return {
    reason: textOf(verdict),
    verdict: shown(verdict),
    advice: adviceFor(verdict, warnings),
    ...confirmationResponse(confirmation),
    ...(latest && { latest: confirmationResponse(latest) }),
    warnings: warnings.map(shownWarning),
    ...((nextAt !== undefined || verdict.code === 'not_certain') && { pending: true as const }),
    ...(nextAt !== undefined && { next_at: nextAt }),
  }
}

function confirmationResponse({ confirmation, ...others }: Confirmation) {
  return { decided: confirmation.map(textOf).join(' '), confirmation: confirmation.map(shown), ...others }
}

/** Why the monitor is in its state; null before the first result. */
export function toReason(json: string | null | undefined): (VerdictReason & { text: string }) | null {
  return json ? shown(readDiagnosis(json).verdict) : null
}

/** The difference from the expected values; null before the first result, and if no values are known. */
export function toDifference(json: string | null | undefined): Difference | null {
  return json ? differenceOf(readDiagnosis(json).verdict) : null
}
