import type { Monitor, MonitorState } from '#contract/monitors.ts'

/** One value for a narrow line, and how many more there are. */
export type Short = { value: string; more: number }
export type ValueLine = { expected: Short; found?: Short | 'nothing' }

type Values = Pick<Monitor, 'state' | 'expected_value' | 'current_value'>

/** What was found in these states was not an answer to compare. */
const SPEAKS: readonly MonitorState[] = ['MISMATCH', 'NOT_FOUND', 'NO_DATA']

/** What is expected and, where the check found something else, what: first the values that differ. */
export function valueLine({ state, expected_value, current_value }: Values): ValueLine {
  const current = current_value ?? []
  if (!SPEAKS.includes(state) || current_value === null) return { expected: short(expected_value) }
  const found = current.length === 0 ? 'nothing' : short(foremost(current, expected_value))
  return { expected: short(foremost(expected_value, current)), found }
}

function foremost(values: readonly string[], others: readonly string[]): string[] {
  return [...values.filter((value) => !others.includes(value)), ...values.filter((value) => others.includes(value))]
}

const short = (values: readonly string[]): Short => ({ value: values[0] ?? '', more: Math.max(0, values.length - 1) })
