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
  const expected = short(foremost(expected_value, current))
  if (current.length === 0) return { expected, found: 'nothing' }
  const found = short(foremost(current, expected_value))
  const from = whereApart(expected.value, found.value)
  return { expected: cut(expected, from), found: cut(found, from) }
}

const LONG = 16

/** Where two long values that begin alike differ, at the begin of a word; 0 where their begins tell enough. */
function whereApart(one: string, other: string): number {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  if (at < LONG) return 0
  return one.lastIndexOf(' ', at) + 1
}

const cut = ({ value, more }: Short, from: number): Short => ({
  value: from === 0 ? value : `… ${value.slice(from)}`,
  more,
})

function foremost(values: readonly string[], others: readonly string[]): string[] {
  return [...values.filter((value) => !others.includes(value)), ...values.filter((value) => others.includes(value))]
}

const short = (values: readonly string[]): Short => ({ value: values[0] ?? '', more: Math.max(0, values.length - 1) })
