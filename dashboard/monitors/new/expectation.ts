import type { LookupResult } from '#contract/dashboard.ts'
import { type MonitorRecordType, RECORD_TYPE_TEXTS } from '#contract/record-types.ts'

/** The form values of a new monitor of one type. `values` can be empty while the user types. */
export type Draft = { type: MonitorRecordType; values: string[]; isExact: boolean }

/** The expected values that the server proposes for the live records. */
export type ProposedExpectation = Pick<LookupResult, 'record_type' | 'expected_value' | 'is_exact_match'>

/** The limit of the API. */
export const MAX_VALUES = 10

/** One for types of which a name has a single record. */
export const maxValues = ({ type, isExact }: Draft): number =>
  RECORD_TYPE_TEXTS[type].isSingle && (isExact || RECORD_TYPE_TEXTS[type].isText) ? 1 : MAX_VALUES

/** The live records as expected values, or one empty value. */
export function proposedDraft({ record_type: type, expected_value, is_exact_match }: ProposedExpectation): Draft {
  return { type, values: expected_value.length === 0 ? [''] : expected_value, isExact: is_exact_match }
}

/** Whether the draft expects the live records. */
export function matchesLiveRecords({ values }: Draft, found: ProposedExpectation): boolean {
  const proposed = proposedDraft(found).values
  const entered = values.map((value) => value.trim()).filter(Boolean)
  return entered.length === proposed.length && entered.every((value) => proposed.includes(value))
}

/** Sets one value. Pasted lines become separate values, except in text records. */
export function setValue({ type, values }: Draft, index: number, text: string): string[] {
  const lines = RECORD_TYPE_TEXTS[type].isText ? [joinLines(text)] : text.split('\n').map((line) => line.trim())
  const entered = lines.length > 1 ? lines.filter(Boolean) : lines
  return values.toSpliced(index, 1, ...entered).slice(0, MAX_VALUES)
}

const joinLines = (text: string) =>
  text.includes('\n')
    ? text
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean)
        .join(' ')
    : text

/** Without empty values, as it is sent. */
export const withoutEmptyValues = (draft: Draft): Draft => ({
  ...draft,
  values: draft.values.filter((value) => value.trim() !== ''),
})
