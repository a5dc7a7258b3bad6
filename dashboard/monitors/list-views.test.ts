import { expect, test } from 'vitest'
import type { Group } from '#contract/groups.ts'
import type { View } from '#contract/views.ts'
import type { Look } from './list-appearance.ts'
import type { ListSearch } from './list-query.ts'
import { isShown, lookOfView, searchOfView, viewOf } from './list-views.ts'

const groups = [{ id: 'grp_1', slug: 'shop', name: 'Shop' }] as Group[]
const look: Look = { density: 'compact', columns: ['name', 'tags', 'metadata.plan'] }
const search: ListSearch = {
  ...{ search: 'www', state: 'MISMATCH,NOT_FOUND', active: 'true', type: 'MX', group: 'shop', id: 'crm-1' },
  ...{ 'metadata.plan': 'big', order: 'state', way: 'desc' },
}
const saved = (given: ListSearch, of = look): View => {
  const fields = viewOf(given, of, groups)
  return { ...fields, id: 'viw_1', created: '', created_by: 'Ada', name: 'Mail' } as View
}

test('a view keeps filters, order, columns and density, and the group by its id', () => {
  expect(viewOf(search, look, groups)).toEqual({
    filter: {
      ...{ search: 'www', state: 'MISMATCH,NOT_FOUND', is_active: true, record_type: 'MX', group: 'grp_1' },
      ...{ external_id: 'crm-1', 'metadata.plan': 'big' },
    },
    order_by: 'state',
    order_way: 'desc',
    columns: ['name', 'tags', 'metadata.plan'],
    density: 'compact',
  })
  expect(viewOf({}, { density: 'compact' }, groups)).toEqual({
    ...{ filter: {}, order_by: 'name', order_way: 'asc', columns: null, density: 'compact' },
  })
})

test('a view that is opened shows what was saved; one without a density keeps that of the browser', () => {
  for (const given of [search, {}, { active: 'false' }, { group: 'unknown' }, { full_domain: 'a.example' }] as const) {
    const view = saved(given)
    expect(searchOfView(view, groups)).toEqual({ ...given, view: 'viw_1' })
    expect(isShown(view, searchOfView(view, groups), lookOfView(view, look), groups)).toBe(true)
  }
  expect(lookOfView(saved(search), { density: 'comfortable' })).toEqual(look)
  const without = { ...saved(search), density: null }
  expect(lookOfView(without, { density: 'comfortable' })).toEqual({ ...look, density: 'comfortable' })
  expect(isShown(without, search, { ...look, density: 'comfortable' }, groups)).toBe(true)
  expect(lookOfView(saved({}, { density: 'compact' }), look)).toEqual({ density: 'compact' })
})

test('a view is changed by another filter, order, column or density', () => {
  const view = saved(search)
  expect(isShown(view, { ...search, type: 'A' }, look, groups)).toBe(false)
  expect(isShown(view, { ...search, order: 'created' }, look, groups)).toBe(false)
  expect(isShown(view, search, { density: 'compact' }, groups)).toBe(false)
  expect(isShown(view, search, { ...look, density: 'comfortable' }, groups)).toBe(false)
})
