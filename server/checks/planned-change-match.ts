import { type Difference, isMatch } from '../record-types/compare.ts'

/** A planned change whose period has started. `isOver`: the period has ended, and only the new values are expected. */
export type StartedChange = { id: string; oldValues: readonly string[]; newValues: readonly string[]; isOver: boolean }

type Compare = (expected: readonly string[]) => Difference

const NONE: Difference = { missing: [], extra: [] }

/**
 * During a planned change the old values, the new values and a mix of both match. A mix contains all common values and at least
 * one other value; in exact mode it contains nothing else. Pure.
 */
export function differenceDuring({ oldValues, newValues }: StartedChange, compare: Compare): Difference {
  if (isMatch(compare(oldValues)) || isMatch(compare(newValues))) return NONE
  const both = oldAndNewValues({ oldValues, newValues })
  const { missing, extra } = compare(both)
  const isCommon = (value: string) => oldValues.includes(value) && newValues.includes(value)
  const lost = missing.filter(isCommon)
  const isMoving = both.some((value) => !isCommon(value) && !missing.includes(value))
  if (lost.length === 0 && isMoving && extra.length === 0) return NONE
  return { missing: lost.length > 0 || isMoving ? lost : missing, extra }
}

export const oldAndNewValues = ({ oldValues, newValues }: Pick<StartedChange, 'oldValues' | 'newValues'>): string[] => [
  ...new Set([...oldValues, ...newValues]),
]
