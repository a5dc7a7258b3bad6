import { describe, expect, test } from 'vitest'
import type { MonitorResponse } from '#contract/monitors.ts'
import { joinPages, neededCursors } from './pages.ts'
import type { MonitorPage } from './query.ts'

describe('the loaded pages', () => {
  test('joins pages by their cursors', () => {
    const chain = joinPages(pages({ '': [['a', 'b'], 'x'], x: [['c'], null] }))
    expect(chain.rows.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(chain.segments).toEqual([
      { cursor: null, from: 0, to: 2 },
      { cursor: 'x', from: 2, to: 3 },
    ])
    expect(chain.next).toBeUndefined()
  })

  test('ends at the first page that is not loaded', () => {
    expect(joinPages(pages({})).next).toBeNull()
    expect(joinPages(pages({ '': [['a'], 'x'] })).next).toBe('x')
  })

  test('drops the pages after one whose cursor changed', () => {
    const chain = joinPages(pages({ '': [['a', 'new'], 'y'], x: [['b', 'c'], null] }))
    expect(chain.rows.map(({ id }) => id)).toEqual(['a', 'new'])
    expect(chain.next).toBe('y')
  })

  test('shows a row that moved to a later page once', () => {
    const chain = joinPages(pages({ '': [['a', 'b'], 'x'], x: [['a', 'c'], null] }))
    expect(chain.rows.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(chain.segments[1]).toEqual({ cursor: 'x', from: 2, to: 3 })
  })
})

describe('the refreshed pages', () => {
  const ids = (count: number, from: number) => Array.from({ length: count }, (_, at) => `${from + at}`)
  const chain = joinPages(pages({ '': [ids(100, 0), 'x'], x: [ids(100, 100), 'y'], y: [ids(100, 200), 'z'] }))

  test('the pages of visible rows', () => {
    expect(neededCursors(chain, 10, 30)).toEqual([null])
    expect(neededCursors(chain, 90, 110)).toEqual([null, 'x'])
    expect(neededCursors(chain, 100, 120)).toEqual(['x'])
  })

  test('the next page before its rows are visible', () => {
    expect(neededCursors(chain, 200, 239)).toEqual(['y'])
    expect(neededCursors(chain, 200, 240)).toEqual(['y', 'z'])
  })

  test('the first page if none is loaded', () => {
    expect(neededCursors(joinPages(pages({})), 0, 0)).toEqual([null])
  })
})

/** By cursor ('' for the first page): the ids on it, and the cursor of the next. */
function pages(given: Record<string, [ids: string[], after: string | null]>) {
  return (cursor: string | null): MonitorPage | undefined => {
    const page = given[cursor ?? '']
    if (!page) return undefined
    const data = page[0].map((id) => ({ id }) as MonitorResponse)
    return { limit: 100, after: page[1], before: null, has_more: page[1] !== null, data }
  }
}
