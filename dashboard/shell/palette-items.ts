import type { LucideIcon } from 'lucide-react'

/** The browser stores the `id` of recent commands. */
export type Command = {
  id: string
  label: string
  /** The search finds it by these too. */
  keywords?: string
  hint?: string
  /** Tooltip of the hint. */
  title?: string
  isCode?: boolean
  icon: LucideIcon
  run: () => unknown
}
export type CommandGroup = { value: string; items: Command[] }

const normalize = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

/** Whether each word of the search text begins a word of the command. */
export function matchesCommand({ label, keywords = '' }: Pick<Command, 'label' | 'keywords'>, text: string): boolean {
  const words = normalize(`${label} ${keywords}`).split(/[^\p{L}\p{N}]+/u)
  return normalize(text)
    .split(/\s+/)
    .every((word) => words.some((other) => other.startsWith(word)))
}

/** A recently used command. The label is stored because monitors are in no list here. */
export type Recent = { id: string; label: string }
const MAX_RECENT = 6

export const withRecent = (recent: readonly Recent[], used: Recent): Recent[] =>
  [used, ...recent.filter(({ id }) => id !== used.id)].slice(0, MAX_RECENT)

/** Parses the stored list, newest first. Empty if it is malformed. */
export function parseRecent(json: string | null): Recent[] {
  try {
    const stored: unknown = JSON.parse(json ?? '[]')
    return Array.isArray(stored) ? stored.filter(isRecent).slice(0, MAX_RECENT) : []
  } catch {
    return []
  }
}

const isRecent = (value: unknown): value is Recent => {
  const { id, label } = (value ?? {}) as Partial<Recent>
  return typeof id === 'string' && typeof label === 'string'
}
