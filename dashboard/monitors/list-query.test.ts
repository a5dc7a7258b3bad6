import { expect, test } from 'vitest'
import { isFiltered, jobTarget, listQuery, listSearchOf, orderedBy, withoutFilters } from './list-query.ts'

test('the address becomes the API’s parameters, by name unless it says otherwise', () => {
  expect(listQuery({ search: 'www', type: 'MX', active: 'false' })).toMatchObject({
    search: 'www',
    record_type: 'MX',
    is_active: 'false',
    order_by: 'name',
  })
  expect(listQuery({ order: 'state', way: 'desc' })).toMatchObject({ order_by: 'state', order_way: 'desc' })
})

test('a second press on a column turns the order, a third turns it back', () => {
  const once = orderedBy({ group: 'a' }, 'state')
  const twice = orderedBy(once, 'state')
  expect(once).toEqual({ group: 'a', order: 'state' })
  expect(twice).toEqual({ group: 'a', order: 'state', way: 'desc' })
  expect(orderedBy(twice, 'state')).toEqual(once)
  expect(orderedBy(twice, 'name')).toEqual({ group: 'a', order: 'name' })
})

test('the column that is the order anyway turns at the first press', () => {
  expect(orderedBy({}, 'name')).toEqual({ order: 'name', way: 'desc' })
})

test('clearing the filters keeps the order', () => {
  const search = { search: 'a', state: 'VALID', active: 'true', order: 'state', way: 'desc' }
  expect(isFiltered(search)).toBe(true)
  expect(withoutFilters(search)).toEqual({ order: 'state', way: 'desc' })
  expect(isFiltered(withoutFilters(search))).toBe(false)
})

test('filters by value and metadata are in the address, the list and the job', () => {
  const search = listSearchOf({
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
