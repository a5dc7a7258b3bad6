import type { RowSelectionState } from '@tanstack/react-table'

/**
 * Which rows are ticked. `scope`, until a row is pressed: `loaded` after a tick for all rows, `matching` for all monitors that the list
 * finds, loaded or not.
 */
export type Selection = { ids: RowSelectionState; scope?: 'loaded' | 'matching' }

export const NOTHING: Selection = { ids: {} }

/** What failed stays ticked, to be tried again; what is gone does not. */
export function afterRun(
  selection: Selection,
  { gone, failed }: { gone: readonly string[]; failed: readonly string[] },
): Selection {
  if (failed.length > 0) return { ids: Object.fromEntries(failed.map((id) => [id, true])) }
  if (gone.length === 0) return selection
  return { ids: Object.fromEntries(Object.entries(selection.ids).filter(([id]) => !gone.includes(id))) }
}
