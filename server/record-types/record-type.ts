import type { FieldError } from '#contract/field-errors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { CnameChain, Outcome, QuestionType } from '../dns/outcome.ts'
import type { RdataFormat } from '../dns/rdata.ts'
import type { Difference } from './compare.ts'
import type { Token } from './presentation.ts'

export type Answer = Extract<Outcome, { kind: 'answer' }>

/** `value`: the canonical text that is stored and compared. */
export type ParsedValue = { ok: true; value: string } | { ok: false; reason: FieldError }

/** The apex of a zone, a service (`_443._tcp.www`), a reverse name (below arpa), or any other name. */
export type NameKind = 'apex' | 'service' | 'address' | 'host'

/** Records of which only one may exist. `values`: all of them. */
export type Conflict = { code: 'several_spf_records' | 'several_dmarc_records'; values: string[] }

/** How a record type is monitored. Its texts are in `contract/record-types.ts`. Every function is pure. */
export type MonitoredType = {
  name: MonitorRecordType
  /** The type to query. */
  queryType: QuestionType
  /** The kinds of names for which the dashboard suggests a monitor of the existing records. */
  suggestedFor: readonly NameKind[]
  /** Parses one expected value. Parsing a stored value returns the same value. */
  parseExpected(text: string, isExactMatch: boolean): ParsedValue
  /** The values of the answer, sorted, without duplicates; empty if it has none of this type. */
  observe(answer: Answer): string[]
  /** `expected`: from `parseExpected`. `observed`: from `observe`. `chain`: of the same answer. */
  difference(
    expected: readonly string[],
    observed: readonly string[],
    isExactMatch: boolean,
    chain: CnameChain,
  ): Difference
  /** Records that make each other invalid, although they may match. Parameters as for `difference`. */
  conflict?(expected: readonly string[], observed: readonly string[], isExactMatch: boolean): Conflict | undefined
  /** Whether `value` lacks its priority, which providers show in a separate column. */
  lacksPriority?(value: string): boolean
  /** An observed value as an expected value. Default: unchanged. */
  asExpected?(value: string, isExactMatch: boolean): string
  /** The part of a value that a flexible monitor compares. Default: all of it. */
  flexibleView?(value: string): string
  /** Whether a suggested monitor has exact mode. Default: yes. */
  isExactByDefault?(observed: readonly string[]): boolean
}

/** A record type of the DNS. SPF is none: it is queried and written as TXT. */
export type RecordType = MonitoredType &
  RdataFormat & {
    /** The fields in order: "priority host". */
    parts: string
    /** Why the import of a zone file skips these records. Default: it imports them. */
    skipped?: string
    /** The rdata in a zone file as an expected value; undefined if it is malformed. `wholeName` appends the origin to a name. */
    fromZoneFile(data: readonly Token[], wholeName: (name: string) => string): string | undefined
    /** An expected value as rdata in a zone file; undefined if it is not a complete record. */
    toZoneFile(value: string): string | undefined
  }

export function refused(reason: FieldError): { ok: false; reason: FieldError } {
  return { ok: false, reason }
}
