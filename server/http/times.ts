import { invalid } from '../problem.ts'

export const isoOf = (instant: number): string => new Date(instant).toISOString()
export const isoOrNull = (instant: number | null): string | null => (instant === null ? null : isoOf(instant))

/** A time filter: Unix seconds or ISO 8601 with its zone. Throws a 400 that names the field. */
export function parseTime(field: string, text: string): number {
  if (/^\d{1,12}(\.\d{1,3})?$/.test(text)) return Math.round(Number(text) * 1_000)
  const instant = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(instant)) {
    throw invalid({ [field]: 'must be Unix seconds or ISO 8601 with a zone, like 1789000000 or 2026-11-21T09:30:00Z.' })
  }
  return instant
}
