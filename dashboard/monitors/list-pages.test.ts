import { describe, expect, test } from 'vitest'
import type { MonitorResponse } from '#contract/monitors.ts'
import { joinPages, neededCursors } from './list-pages.ts'
import type { MonitorPage } from './list-query.ts'

describe('the chain of pages', () => {
  test('joins pages by the cursor that each names for the next', () => {
    const chain = joinPages(pages({ '': [['a', 'b'], 'x'], x: [['c'], null] }))
    expect(chain.rows.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(chain.segments).toEqual([
      { cursor: null, from: 0, to: 2 },
      { cursor: 'x', from: 2, to: 3 },
    ])
    expect(chain.next).toBeUndefined()
  })

  test('ends where a page is not known yet', () => {
    expect(joinPages(pages({})).next).toBeNull()
    expect(joinPages(pages({ '': [['a'], 'x'] })).next).toBe('x')
  })

  test('leaves out what followed a page that now ends elsewhere', () => {
    const chain = joinPages(pages({ '': [['a', 'new'], 'y'], x: [['b', 'c'], null] }))
    expect(chain.rows.map(({ id }) => id)).toEqual(['a', 'new'])
    expect(chain.next).toBe('y')
  })

  test('shows a row once that moved to a later page', () => {
    const chain = joinPages(pages({ '': [['a', 'b'], 'x'], x: [['a', 'c'], null] }))
    expect(chain.rows.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(chain.segments[1]).toEqual({ cursor: 'x', from: 2, to: 3 })
  })
})

describe('which pages are kept current', () => {
  const ids = (count: number, from: number) => Array.from({ length: count }, (_, at) => `${from + at}`)
  const chain = joinPages(pages({ '': [ids(100, 0), 'x'], x: [ids(100, 100), 'y'], y: [ids(100, 200), 'z'] }))

  test('those that are seen', () => {
    expect(neededCursors(chain, 10, 30)).toEqual([null])
    expect(neededCursors(chain, 90, 110)).toEqual([null, 'x'])
    expect(neededCursors(chain, 100, 120)).toEqual(['x'])
  })

  test('and the next one before its rows are seen', () => {
    expect(neededCursors(chain, 200, 239)).toEqual(['y'])
    expect(neededCursors(chain, 200, 240)).toEqual(['y', 'z'])
  })

  test('the first one where nothing is known', () => {
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
