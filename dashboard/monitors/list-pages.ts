import type { MonitorResponse } from '#contract/monitors.ts'
import type { MonitorPage } from './list-query.ts'

export type Segment = { cursor: string | null; from: number; to: number }
export type Chain = {
  rows: readonly MonitorResponse[]
  segments: readonly Segment[]
  /** The cursor of what is not fetched yet (null: the first page); undefined: all is there. */
  next: string | null | undefined
}

/**
 * The list as far as its pages are known: each page names the cursor of the one after it. A page that was fetched again and
 * ends elsewhere names another cursor, so what followed it is left out until it is fetched again too: nothing is shown twice
 * and nothing is skipped.
 */
export function chainOf(pageAt: (cursor: string | null) => MonitorPage | undefined): Chain {
  const rows: MonitorResponse[] = []
  const segments: Segment[] = []
  // In an order that changes a row can stand in an older page too.
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

/** How close to the last loaded row the next page is requested. */
const AHEAD = 60

/** The cursors of the pages that rows `first` to `last` stand on, and of the next one when its rows will soon be seen. */
export function cursorsFor({ rows, segments, next }: Chain, first: number, last: number): (string | null)[] {
  const shown = segments.filter(({ from, to }) => from <= last && to > first).map(({ cursor }) => cursor)
  const isNear = last + AHEAD >= rows.length
  return next !== undefined && isNear ? [...shown, next] : shown
}
