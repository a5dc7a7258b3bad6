import type { Found } from '#contract/dashboard.ts'
import { type MonitorRecordType, RECORD_TYPE_TEXTS } from '#contract/record-types.ts'

/** What a new monitor of one type will expect. `values` may hold empty ones while they are written. */
export type Draft = { type: MonitorRecordType; values: string[]; isExact: boolean }

/** The API's bound. */
export const MOST_VALUES = 10

/** A second value of what a name has only one of could never be it. */
export const mostOf = ({ type, isExact }: Draft): number =>
  RECORD_TYPE_TEXTS[type].isSingle && (isExact || RECORD_TYPE_TEXTS[type].isText) ? 1 : MOST_VALUES

/** What stands there now, offered as the expectation; where nothing does, one value to be written. */
export function draftOf({ record_type: type, values }: Pick<Found, 'record_type' | 'values'>): Draft {
  // A text that is still to come will stand beside others; of more records than can be expected, some are.
  if (values.length === 0) return { type, values: [''], isExact: type !== 'TXT' }
  const written = values.map((value) => (type === 'TXT' ? writtenText(value) : value))
  return { type, values: written.slice(0, MOST_VALUES), isExact: values.length <= MOST_VALUES }
}

/** Whether the draft says the same as what stands there, so that there is nothing to say about a difference. */
export function isAsFound({ values }: Draft, found: Pick<Found, 'record_type' | 'values'>): boolean {
  const now = draftOf(found).values
  const given = values.map((value) => value.trim()).filter(Boolean)
  return given.length === now.length && given.every((value) => now.includes(value))
}

/** An expectation of TXT that is quoted would be read as a zone file's; what stands so in the DNS is quoted once more. */
function writtenText(text: string): string {
  const inside = text.trim().replace(/^\(/, '').replace(/\)$/, '').trim()
  const isPlain = text.trim() !== '' && !(inside.length > 1 && inside.startsWith('"') && inside.endsWith('"'))
  return isPlain ? text : `"${text.replace(/["\\]/g, '\\$&')}"`
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
