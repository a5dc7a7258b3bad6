import { fieldError } from '#contract/field-errors.ts'
import type { FieldErrors } from '../problem.ts'

/** Deeper than anything that a schema of ours describes. */
const MOST_DEPTH = 32
/** A full bulk request has 22,000. */
const MOST_VALUES = 100_000

type Place = { value: unknown; path: string; depth: number }

/**
 * What no schema needs to look at: text that cannot be stored (U+0000, halves of surrogate pairs), and nesting or numbers
 * of values that only cost time. Walks with a list instead of calls, because the depth is the sender's choice.
 */
export function findOversized(input: unknown): FieldErrors | undefined {
  const waiting: Place[] = [{ value: input, path: '', depth: 0 }]
  for (let seen = 1; ; seen++) {
    const place = waiting.pop()
    if (!place) return undefined
    const { value, path, depth } = place
    if (typeof value === 'string') {
      const fault = faultOf(value)
      if (fault) return { [path || 'body']: fieldError(fault) }
    } else if (value !== null && typeof value === 'object') {
      if (depth >= MOST_DEPTH) return { body: fieldError('too_deep', { max: MOST_DEPTH }) }
      const isList = Array.isArray(value)
      const entries = isList ? value.entries() : Object.entries(value)
      const count = isList ? value.length : (entries as unknown[]).length
      if (seen + waiting.length + count > MOST_VALUES)
        return { body: fieldError('too_many_values', { max: MOST_VALUES }) }
      for (const [key, child] of entries) {
        const fault = typeof key === 'string' && faultOf(key)
        if (fault) return { [path || 'body']: fieldError(IN_NAME[fault]) }
        waiting.push({ value: child, path: path === '' ? String(key) : `${path}.${key}`, depth: depth + 1 })
      }
    }
  }
}

const IN_NAME = { nul_character: 'nul_in_name', unpaired_surrogate: 'surrogate_in_name' } as const

function faultOf(text: string): keyof typeof IN_NAME | undefined {
  if (text.includes('\0')) return 'nul_character'
  return text.isWellFormed() ? undefined : 'unpaired_surrogate'
}
