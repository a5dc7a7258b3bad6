import { fieldError } from '#contract/field-errors.ts'
import { invalid } from '../problem.ts'

/** The fields in `?include=`, in any letter case. Throws a 400 that lists the allowed fields. */
export function parseIncludedFields<T extends string>(text: string | undefined, allowed: readonly T[]): T[] {
  if (text === undefined) return []
  // If the body is invalid too, the query was not validated: a repeated parameter is a list.
  if (typeof text !== 'string') throw invalid({ include: fieldError('repeated') })
  const names = text
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  if (!names.every((name) => name === '' || allowed.some((field) => field === name))) {
    throw invalid({ include: fieldError('invalid_list', { allowed: allowed.join(', ') }) })
  }
  return allowed.filter((field) => names.includes(field))
}
