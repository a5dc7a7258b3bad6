import type { RowSelectionState } from '@tanstack/react-table'

/**
 * The selected rows. `scope` is set after a selection of all rows, until a single row changes: `loaded` for the loaded rows,
 * `matching` for all matching monitors.
 */
export type Selection = { ids: RowSelectionState; scope?: 'loaded' | 'matching' }

export const NO_SELECTION: Selection = { ids: {} }

/** Failed monitors stay selected for another attempt. Deleted ones do not. */
export function afterRun(
  selection: Selection,
  { deleted, failed }: { deleted: readonly string[]; failed: readonly string[] },
): Selection {
  if (failed.length > 0) return { ids: Object.fromEntries(failed.map((id) => [id, true])) }
  if (deleted.length === 0) return selection
  return { ids: Object.fromEntries(Object.entries(selection.ids).filter(([id]) => !deleted.includes(id))) }
}
