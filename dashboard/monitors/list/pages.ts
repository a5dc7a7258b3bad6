import type { MonitorResponse } from '#contract/monitors.ts'
import type { MonitorPage } from './query.ts'

export type Segment = { cursor: string | null; from: number; to: number }
export type LoadedPages = {
  rows: readonly MonitorResponse[]
  segments: readonly Segment[]
  /** The cursor of the next page to fetch (null: the first page); undefined: all are loaded. */
  next: string | null | undefined
}

/**
 * Joins the loaded pages. Each page has the cursor of the next one. If a page changed and has another cursor, the pages after it
 * are dropped until they are fetched again, so that no row is visible twice or skipped.
 */
export function joinPages(pageAt: (cursor: string | null) => MonitorPage | undefined): LoadedPages {
  const rows: MonitorResponse[] = []
  const segments: Segment[] = []
  // While the order changes, two pages can have the same row.
  const seen = new Set<string>()
  let next: string | null | undefined = null
  while (next !== undefined) {
    const page = pageAt(next)
    if (!page) break
    const from = rows.length
    for (const row of page.data) {
      if (seen.has(row.id)) continue
      seen.add(row.id)
      rows.push(row)
    }
    segments.push({ cursor: next, from, to: rows.length })
    next = page.after ?? undefined
  }
  return { rows, segments, next }
}

/** Rows before the last loaded one at which the next page is fetched. */
const PREFETCH_ROWS = 60

/** The cursors of the pages of rows `first` to `last`, and of the next page if they are near the end. */
export function neededCursors({ rows, segments, next }: LoadedPages, first: number, last: number): (string | null)[] {
  const visible = segments.filter(({ from, to }) => from <= last && to > first).map(({ cursor }) => cursor)
  const isNear = last + PREFETCH_ROWS >= rows.length
  return next !== undefined && isNear ? [...visible, next] : visible
}
