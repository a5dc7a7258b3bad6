import type { ValidationWork } from './dnssec/validation-work.ts'
import type { ExtendedError, Question } from './outcome.ts'
import type { QueryBudget } from './resolver/query-budget.ts'
import type { ZoneView } from './resolver/zone-view.ts'

/**
 * What a validator makes of the response of one name server. RFC 4035 section 4.3. `bogus`: with the DS records of every server of the
 * parent zone that answered. `unknown`: a part of the evidence did not arrive, or cannot be judged. `bogus_above`: the signatures of a
 * zone above fail, so that nothing below it is valid. `indeterminate`: no chain of trust leads to the zone, because signatures are
 * removed on the way, or those of the root zone fail, as with a clock that is wrong.
 */
export type Validity =
  | { kind: 'secure' | 'unsigned' | 'unknown' | 'indeterminate' }
  | { kind: 'bogus' | 'bogus_above'; ede: ExtendedError[] }

/**
 * Validates what the delegated servers answer from their DNSKEY and RRSIG records and the DS records at the parent's servers,
 * whatever caches say.
 */
export type DnssecValidator = {
  /** `server`: n for the n-th name server of the view. */
  validate(question: Question, view: ZoneView, server: number, call: ValidationCall): Promise<Validity>
}

/** `work`, `budget`: of the check, shared by its validations. `group`: of the organization, whose queries take turns with those of others. */
export type ValidationCall = {
  signal: AbortSignal
  work?: ValidationWork | undefined
  budget?: QueryBudget | undefined
  group?: string | undefined
}
