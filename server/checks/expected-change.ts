import { type Difference, isMatch } from '../monitors/record-types/compare.ts'

/** The values of a planned change. `isOver`: its period has ended, and only the new values are expected. */
export type ExpectedChange = { id: string; oldValues: readonly string[]; newValues: readonly string[]; isOver: boolean }

/** Compares the observed values with others. */
type Compare = (expected: readonly string[]) => Difference

const NONE: Difference = { missing: [], extra: [] }

/**
 * While a record moves, the old values, the new ones, and a mix of both are fine. In a mix, what is in both stays, and at least
 * one of the others is there; in exact mode nothing else is. Pure.
 */
export function differenceDuring({ oldValues, newValues }: ExpectedChange, compare: Compare): Difference {
  if (isMatch(compare(oldValues)) || isMatch(compare(newValues))) return NONE
  const both = oldAndNewValues({ oldValues, newValues })
  const { missing, extra } = compare(both)
  const isKept = (value: string) => oldValues.includes(value) && newValues.includes(value)
  const lost = missing.filter(isKept)
  const isMoving = both.some((value) => !isKept(value) && !missing.includes(value))
  if (lost.length === 0 && isMoving && extra.length === 0) return NONE
  return { missing: lost.length > 0 || isMoving ? lost : missing, extra }
}

/** All values that may be there. */
export const oldAndNewValues = ({
  oldValues,
  newValues,
}: Pick<ExpectedChange, 'oldValues' | 'newValues'>): string[] => [...new Set([...oldValues, ...newValues])]
