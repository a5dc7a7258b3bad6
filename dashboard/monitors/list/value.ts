import type { Monitor, MonitorState } from '#contract/monitors.ts'

/** One value, and the number of others. */
export type ShortValue = { value: string; more: number }
export type ValueLine = { expected: ShortValue; found?: ShortValue | 'nothing' }

type Values = Pick<Monitor, 'state' | 'expected_value' | 'current_value'>

/** The states in which the current values were compared with the expected ones. */
const COMPARED_STATES: readonly MonitorState[] = ['MISMATCH', 'NOT_FOUND', 'NO_DATA']

/** An expected value and, if they differ, a found one. Differing values come first. */
export function valueLine({ state, expected_value, current_value }: Values): ValueLine {
  const current = current_value ?? []
  if (!COMPARED_STATES.includes(state) || current_value === null) return { expected: shorten(expected_value) }
  const expected = shorten(differingFirst(expected_value, current))
  if (current.length === 0) return { expected, found: 'nothing' }
  const found = shorten(differingFirst(current, expected_value))
  const from = firstDifference(expected.value, found.value)
  return { expected: cut(expected, from), found: cut(found, from) }
}

const LONG_PREFIX = 16

/** The start of the word at which two long values with the same beginning differ; 0 if they differ early. */
function firstDifference(one: string, other: string): number {
  let index = 0
  while (index < one.length && one[index] === other[index]) index++
  if (index < LONG_PREFIX) return 0
  return one.lastIndexOf(' ', index) + 1
}

const cut = ({ value, more }: ShortValue, from: number): ShortValue => ({
  value: from === 0 ? value : `… ${value.slice(from)}`,
  more,
})

function differingFirst(values: readonly string[], others: readonly string[]): string[] {
  return [...values.filter((value) => !others.includes(value)), ...values.filter((value) => others.includes(value))]
}

const shorten = (values: readonly string[]): ShortValue => ({
  value: values[0] ?? '',
  more: Math.max(0, values.length - 1),
})
