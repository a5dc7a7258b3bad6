import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { type MonitorRecordType, RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { isGenericForm, readGenericForm } from './generic-form.ts'
import { tokensOf } from './presentation.ts'
import { type ParsedValue, refused } from './record-type.ts'
import { findZonedType, recordTypeOf } from './record-types.ts'

/** The path of the value at fault (`expected_value` or `expected_value.<i>`) → what is wrong. */
export type ExpectedValueProblems = Record<string, FieldError>
export type ParsedExpectedValues = { ok: true; values: string[] } | { ok: false; problems: ExpectedValueProblems }

export const MAX_EXPECTED_VALUES = 10
/** In characters, each. */
export const MAX_EXPECTED_VALUE = 1000

/**
 * Checks and normalises 1 to 10 expected values; a bare string is a list of one, duplicates are folded.
 * Stored values must pass again when the type or the mode changes: exact mode refuses a block of addresses.
 */
export function parseExpectedValues(
  given: string | readonly string[],
  recordType: MonitorRecordType,
  isExactMatch: boolean,
): ParsedExpectedValues {
  const texts = typeof given === 'string' ? [given] : given
  if (texts.length < 1 || texts.length > MAX_EXPECTED_VALUES) {
    const reason = fieldError('wrong_number_of_values', { max: MAX_EXPECTED_VALUES, count: texts.length })
    return { ok: false, problems: { expected_value: reason } }
  }
  const problems: ExpectedValueProblems = {}
  const values = new Set<string>()
  for (const [index, text] of texts.entries()) {
    const parsed = parseOne(text, recordType, isExactMatch)
    if (parsed.ok) values.add(parsed.value)
    else problems[typeof given === 'string' ? 'expected_value' : `expected_value.${index}`] = parsed.reason
  }
  if (values.size > 1 && isExactMatch && RECORD_TYPE_TEXTS[recordType].isSingle) {
    problems.expected_value = fieldError('single_value_only', { record_type: recordType })
  }
  return Object.keys(problems).length > 0 ? { ok: false, problems } : { ok: true, values: [...values] }
}

/** What a new monitor would expect of the records that are there now. */
export function expectationOf(
  type: MonitorRecordType,
  observed: readonly string[],
): { values: string[]; isExact: boolean } {
  const { isExactByDefault, asExpected } = recordTypeOf(type)
  const isExact = observed.length <= MAX_EXPECTED_VALUES && (isExactByDefault?.(observed) ?? true)
  const values = observed.slice(0, MAX_EXPECTED_VALUES)
  return { values: asExpected ? values.map((value) => asExpected(value, isExact)) : values, isExact }
}

function parseOne(text: string, recordType: MonitorRecordType, isExactMatch: boolean): ParsedValue {
  if (isOverlong(text)) return overlong(text)
  const parsed = recordTypeOf(recordType).parseExpected(readable(text, recordType), isExactMatch)
  // Escapes can make a value longer than what was written.
  return parsed.ok && isOverlong(parsed.value) ? overlong(parsed.value) : parsed
}

/** Data in the form for any type as the value that it stands for; a text may be anything. */
function readable(text: string, type: MonitorRecordType): string {
  const found = RECORD_TYPE_TEXTS[type].isText ? undefined : findZonedType(type)
  const data = found && text.trimStart().startsWith('\\#') ? tokensOf(text) : undefined
  return (found && data && isGenericForm(data) && readGenericForm(found.recordType, data)) || text
}

function isOverlong(text: string): boolean {
  if (text.length <= MAX_EXPECTED_VALUE || text.length > 2 * MAX_EXPECTED_VALUE) return text.length > MAX_EXPECTED_VALUE
  return Array.from(text).length > MAX_EXPECTED_VALUE
}

function overlong(text: string): ParsedValue {
  return refused(fieldError('value_too_long', { value: text, max: MAX_EXPECTED_VALUE }))
}
