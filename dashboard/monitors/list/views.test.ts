import { expect, test } from 'vitest'
import type { Group } from '#contract/groups.ts'
import type { View } from '#contract/views.ts'
import type { ListAppearance } from './appearance.ts'
import type { ListSearch } from './query.ts'
import { appearanceOfView, isUnchanged, searchOfView, viewOf } from './views.ts'

const groups = [{ id: 'grp_1', slug: 'shop', name: 'Shop' }] as Group[]
const appearance: ListAppearance = { density: 'compact', columns: ['name', 'tags', 'metadata.plan'] }
const search: ListSearch = {
  ...{ search: 'www', state: 'MISMATCH,NOT_FOUND', active: 'true', type: 'MX', group: 'shop', id: 'crm-1' },
  ...{ 'metadata.plan': 'big', order: 'state', way: 'desc' },
}
const saved = (given: ListSearch, of = appearance): View => {
  const fields = viewOf(given, of, groups)
  return { ...fields, id: 'viw_1', created: '', created_by: 'Ada', name: 'Mail' } as View
}

test('a view has filters, order, columns and density, and the group by its id', () => {
  expect(viewOf(search, appearance, groups)).toEqual({
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

test('an opened view is shown as saved, and without a density keeps that of the browser', () => {
  for (const given of [search, {}, { active: 'false' }, { group: 'unknown' }, { full_domain: 'a.example' }] as const) {
    const view = saved(given)
    expect(searchOfView(view, groups)).toEqual({ ...given, view: 'viw_1' })
    expect(isUnchanged(view, searchOfView(view, groups), appearanceOfView(view, appearance), groups)).toBe(true)
  }
  expect(appearanceOfView(saved(search), { density: 'comfortable' })).toEqual(appearance)
  const without = { ...saved(search), density: null }
  expect(appearanceOfView(without, { density: 'comfortable' })).toEqual({ ...appearance, density: 'comfortable' })
  expect(isUnchanged(without, search, { ...appearance, density: 'comfortable' }, groups)).toBe(true)
  expect(appearanceOfView(saved({}, { density: 'compact' }), appearance)).toEqual({ density: 'compact' })
})

test('another filter, order, column or density modifies a view', () => {
  const view = saved(search)
  expect(isUnchanged(view, { ...search, type: 'A' }, appearance, groups)).toBe(false)
  expect(isUnchanged(view, { ...search, order: 'created' }, appearance, groups)).toBe(false)
  expect(isUnchanged(view, search, { density: 'compact' }, groups)).toBe(false)
  expect(isUnchanged(view, search, { ...appearance, density: 'comfortable' }, groups)).toBe(false)
})
