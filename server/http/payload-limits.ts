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
      const sentence = refusalOf(value)
      if (sentence) return { [path || 'body']: sentence }
    } else if (value !== null && typeof value === 'object') {
      if (depth >= MOST_DEPTH) return { body: `must not be nested deeper than ${MOST_DEPTH} levels.` }
      const isList = Array.isArray(value)
      const entries = isList ? value.entries() : Object.entries(value)
      const count = isList ? value.length : (entries as unknown[]).length
      if (seen + waiting.length + count > MOST_VALUES) return { body: `must have at most ${MOST_VALUES} values.` }
      for (const [key, child] of entries) {
        const sentence = typeof key === 'string' && refusalOf(key)
        if (sentence) return { [path || 'body']: `has a field whose name ${sentence}` }
        waiting.push({ value: child, path: path === '' ? String(key) : `${path}.${key}`, depth: depth + 1 })
      }
    }
  }
}

function refusalOf(text: string): string | undefined {
  if (text.includes('\0')) return 'contains the character U+0000, which is not allowed.'
  return text.isWellFormed() ? undefined : 'contains an unpaired surrogate, which is not valid Unicode.'
}
