import type { Found } from '#contract/dashboard.ts'
import { type MonitorRecordType, RECORD_TYPE_TEXTS } from '#contract/record-types.ts'

/** What a new monitor of one type will expect. `values` may hold empty ones while they are written. */
export type Draft = { type: MonitorRecordType; values: string[]; isExact: boolean }

/** What the server would expect of what is there now. */
export type Offer = Pick<Found, 'record_type' | 'expected_value' | 'is_exact_match'>

/** The API's bound. */
export const MOST_VALUES = 10

/** A second value of what a name has only one of could never be it. */
export const mostOf = ({ type, isExact }: Draft): number =>
  RECORD_TYPE_TEXTS[type].isSingle && (isExact || RECORD_TYPE_TEXTS[type].isText) ? 1 : MOST_VALUES

/** What stands there now, offered as the expectation; where nothing does, one value to be written. */
export function draftOf({ record_type: type, expected_value, is_exact_match }: Offer): Draft {
  return { type, values: expected_value.length === 0 ? [''] : expected_value, isExact: is_exact_match }
}

/** Whether the draft says the same as what stands there, so that there is nothing to say about a difference. */
export function isAsFound({ values }: Draft, found: Offer): boolean {
  const now = draftOf(found).values
  const given = values.map((value) => value.trim()).filter(Boolean)
  return given.length === now.length && given.every((value) => now.includes(value))
}

/** What was pasted into the value at `at`: lines are values of their own, except in a text. */
export function withValue({ type, values }: Draft, at: number, text: string): string[] {
  const lines = RECORD_TYPE_TEXTS[type].isText ? [onOneLine(text)] : text.split('\n').map((line) => line.trim())
  const given = lines.length > 1 ? lines.filter(Boolean) : lines
  return values.toSpliced(at, 1, ...given).slice(0, MOST_VALUES)
}

const onOneLine = (text: string) =>
  text.includes('\n')
    ? text
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean)
        .join(' ')
    : text

/** As it is sent: without empty values. */
export const filled = (draft: Draft): Draft => ({
  ...draft,
  values: draft.values.filter((value) => value.trim() !== ''),
})
