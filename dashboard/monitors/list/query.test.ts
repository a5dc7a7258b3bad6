import { expect, test } from 'vitest'
import { isFiltered, jobTarget, listQuery, pickListSearch, sortingOf, withoutFilters, withSorting } from './query.ts'

test('the URL becomes API parameters, ordered by name by default', () => {
  expect(listQuery({ search: 'www', type: 'MX', active: 'false' })).toMatchObject({
    search: 'www',
    record_type: 'MX',
    is_active: 'false',
    order_by: 'name',
  })
  expect(listQuery({ order: 'state', way: 'desc' })).toMatchObject({ order_by: 'state', order_way: 'desc' })
})

test('the order of the table is in the URL, by name by default', () => {
  expect(sortingOf({})).toEqual([{ id: 'name', desc: false }])
  expect(sortingOf({ order: 'state', way: 'desc' })).toEqual([{ id: 'state', desc: true }])
  const search = { group: 'a', order: 'name', way: 'desc' }
  expect(withSorting(search, [{ id: 'state', desc: false }])).toEqual({ group: 'a', order: 'state' })
  expect(withSorting(search, [{ id: 'state', desc: true }])).toEqual({ group: 'a', order: 'state', way: 'desc' })
})

test('a bookmark with the order of an older version opens in the default order', () => {
  expect(pickListSearch({ state: 'VALID', order: 'last_checked' })).toEqual({ state: 'VALID' })
  expect(pickListSearch({ order: 'state', way: 'desc' })).toEqual({ order: 'state', way: 'desc' })
})

test('clearing the filters keeps the order', () => {
  const search = { search: 'a', state: 'VALID', active: 'true', order: 'state', way: 'desc' }
  expect(isFiltered(search)).toBe(true)
  expect(withoutFilters(search)).toEqual({ order: 'state', way: 'desc' })
  expect(isFiltered(withoutFilters(search))).toBe(false)
})

test('filters by value and metadata are in the URL, the list and the job', () => {
  const search = pickListSearch({
    value: '192.0.2.',
    'metadata.plan': 'big',
    'metadata.': 'x',
    'other.plan': 'x',
    tag: 3,
  })
  expect(search).toEqual({ value: '192.0.2.', 'metadata.plan': 'big' })
  expect(listQuery(search)).toMatchObject({ value: '192.0.2.', 'metadata.plan': 'big' })
  expect(jobTarget(search)).toEqual({ filter: { value: '192.0.2.', 'metadata.plan': 'big' } })
  expect(isFiltered({ 'metadata.plan': 'big' })).toBe(true)
  expect(withoutFilters(search)).toEqual({})
})
