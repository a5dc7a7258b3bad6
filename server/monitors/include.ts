import { fieldError } from '#contract/field-errors.ts'
import { INCLUDES } from '#contract/monitors.ts'
import { invalid } from '../problem.ts'
import { type Inclusion, inclusionOf, NOTHING } from './monitor.ts'

/** Reads `?include=`, in any letter case. Throws a 400 that lists what can be included. */
export function parseInclude(text: string | undefined): Inclusion {
  if (text === undefined || text === '') return NOTHING
  // Where the body is at fault too, the query was not looked at by its schema: one given twice is a list.
  if (typeof text !== 'string') throw invalid({ include: fieldError('repeated') })
  const names = text
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '')
  if (names.some((name) => !INCLUDES.some((known) => known === name))) {
    throw invalid({ include: fieldError('invalid_list', { allowed: INCLUDES.join(', ') }) })
  }
  return inclusionOf(names)
}
