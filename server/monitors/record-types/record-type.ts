import type { FieldError } from '#contract/field-errors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { CnameChain, Outcome, QuestionType } from '../../dns/outcome.ts'
import type { RdataFormat } from '../../dns/rdata.ts'
import type { Difference } from './compare.ts'
import type { Token } from './presentation.ts'

export type Answer = Extract<Outcome, { kind: 'answer' }>

/** `value` is what is stored and compared. */
export type ParsedValue = { ok: true; value: string } | { ok: false; reason: FieldError }

/** Apex of a zone, name of a service (`_443._tcp.www`), name of an address (below arpa), or any other name. */
export type NameKind = 'apex' | 'service' | 'address' | 'host'

/** What a monitor needs to know of its record type, but for the texts in `contract/record-types.ts`. Every function is pure. */
export type MonitoredType = {
  name: MonitorRecordType
  /** What is queried for it. */
  queryType: QuestionType
  /** The names for which a new monitor is offered the records that are there. */
  likelyAt: readonly NameKind[]
  /** One expected value as a person writes it. Given its own `value` again it returns the same. */
  parseExpected(text: string, isExactMatch: boolean): ParsedValue
  /** The values that a monitor shows, sorted, without duplicates; empty when the answer holds none of the type. */
  observe(answer: Answer): string[]
  /** `expected` comes from `parseExpected`, `observed` from `observe`, `chain` from the same answer. */
  difference(
    expected: readonly string[],
    observed: readonly string[],
    isExactMatch: boolean,
    chain: CnameChain,
  ): Difference
  /** Providers show its first number in a column of its own: whether `value` lacks it. */
  lacksPriority?(value: string): boolean
  /** An observed value as an expected value is written; itself unless given. */
  asExpected?(value: string, isExactMatch: boolean): string
  /** What a flexible monitor looks at of a record's text, so that other changes are none; all of it unless given. */
  flexibleView?(value: string): string
  /** Whether a new monitor expects exactly the records that are there now; it does unless given. */
  isExactByDefault?(observed: readonly string[]): boolean
}

/** All that is particular to a record type that zones hold. SPF is none: it is queried and written as TXT. */
export type RecordType = MonitoredType &
  RdataFormat & {
    /** Its fields in their order: "priority host". */
    parts: string
    /** Why records of zone files are passed over; they are not unless given. */
    skipped?: string
    /**
     * The data of a zone file's record as an expected value is written; undefined where its parts are others. `wholeName`
     * completes a name by the origin.
     */
    fromZoneFile(data: readonly Token[], wholeName: (name: string) => string): string | undefined
    /** An expected value as the data of a zone file's record; undefined for one that leaves parts of the record open. */
    toZoneFile(value: string): string | undefined
  }

export function refused(reason: FieldError): { ok: false; reason: FieldError } {
  return { ok: false, reason }
}
