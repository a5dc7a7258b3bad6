import { type KindName, UNLABELED } from './format.ts'
import type { Place } from './source.ts'

export type Value = Record<string, unknown>

/** One item of the files, validated. `unset`: what cannot be known, because a variable is not set. */
export type Item = {
  kind: KindName
  place: Place
  value: Value
  unset: readonly { path: string[]; variable: string }[]
}

/** What the files say. `missing`: variables of the environment that are not set. */
export type Declared = {
  label: string
  owns: ReadonlySet<string>
  items: readonly Item[]
  missing: readonly string[]
}

export const isObject = (value: unknown): value is Value =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isUnlabeled = (kind: string): boolean => UNLABELED.some((name) => name === kind)
