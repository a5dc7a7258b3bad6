/**
 * Which rows are ticked, and the one that a range begins at. `isAll`: all loaded rows were ticked at once, and none was pressed since.
 * `isMatching`: all monitors that the list finds, loaded or not.
 */
export type Selection = {
  ids: ReadonlySet<string>
  anchor: string | undefined
  isAll?: boolean
  isMatching?: boolean
}

export const NOTHING: Selection = { ids: new Set(), anchor: undefined }

/** Ticks or unticks one row or, `withRange`, all from the row that was pressed last up to this one. */
export function pressed(
  { ids, anchor }: Selection,
  rows: readonly { id: string }[],
  id: string,
  withRange: boolean,
): Selection {
  const isOn = !ids.has(id)
  const next = new Set(ids)
  for (const each of withRange ? between(rows, anchor, id) : [id]) {
    if (isOn) next.add(each)
    else next.delete(each)
  }
  return { ids: next, anchor: id }
}

/** All rows, or none of them where all are ticked already. */
export function pressedAll({ ids }: Selection, rows: readonly { id: string }[]): Selection {
  const isFull = rows.length > 0 && rows.every(({ id }) => ids.has(id))
  return isFull ? NOTHING : { ids: new Set(rows.map(({ id }) => id)), anchor: undefined, isAll: true }
}

/** What failed stays ticked, to be tried again; what is gone does not. */
export function afterRun(
  selection: Selection,
  { gone, failed }: { gone: readonly string[]; failed: readonly string[] },
): Selection {
  if (failed.length > 0) return { ids: new Set(failed), anchor: undefined }
  if (gone.length === 0) return selection
  return { ids: selection.ids.difference(new Set(gone)), anchor: undefined }
}

function between(rows: readonly { id: string }[], anchor: string | undefined, id: string): string[] {
  const at = rows.findIndex((row) => row.id === id)
  const from = rows.findIndex((row) => row.id === anchor)
  if (at === -1 || from === -1) return [id]
  return rows.slice(Math.min(at, from), Math.max(at, from) + 1).map((row) => row.id)
}
