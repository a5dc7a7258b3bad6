import type { LucideIcon } from 'lucide-react'

/** Something that the palette can do. `id` is kept in the browser when it was chosen. */
export type Command = {
  id: string
  label: string
  /** Words that find it besides its label. */
  words?: string
  /** Beside the label, fainter. */
  hint?: string
  /** Of the hint, for the mouse. */
  title?: string
  isCode?: boolean
  icon: LucideIcon
  run: () => unknown
}
export type CommandGroup = { value: string; items: Command[] }

const plain = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

/** Whether each word that was typed begins a word of the command. */
export function isMeant({ label, words = '' }: Pick<Command, 'label' | 'words'>, typed: string): boolean {
  const there = plain(`${label} ${words}`).split(/[^\p{L}\p{N}]+/u)
  return plain(typed)
    .split(/\s+/)
    .every((word) => there.some((each) => each.startsWith(word)))
}

/** What was chosen last, newest first. A monitor keeps its label with it: it is in no list here. */
export type Recent = { id: string; label: string }
const MOST_RECENT = 6

export const withRecent = (recent: readonly Recent[], chosen: Recent): Recent[] =>
  [chosen, ...recent.filter(({ id }) => id !== chosen.id)].slice(0, MOST_RECENT)

/** What the browser kept; nothing where it cannot be read. */
export function parseRecent(kept: string | null): Recent[] {
  try {
    const given: unknown = JSON.parse(kept ?? '[]')
    return Array.isArray(given) ? given.filter(isRecent).slice(0, MOST_RECENT) : []
  } catch {
    return []
  }
}

const isRecent = (given: unknown): given is Recent => {
  const { id, label } = (given ?? {}) as Partial<Recent>
  return typeof id === 'string' && typeof label === 'string'
}
