import { expect, test } from 'vitest'
import { columnIds, includeOf, type ListAppearance, parseAppearance, withColumn } from './appearance.ts'

const DEFAULT_COLUMNS: ListAppearance = { density: 'comfortable' }

test('a selected column is at its default position, and the name is always visible', () => {
  const tagged = withColumn(withColumn(DEFAULT_COLUMNS, 'metadata.plan', true), 'tags', true)
  expect(tagged.columns?.slice(4)).toEqual([
    'group',
    'tags',
    'metadata.plan',
    'uptime',
    'last_checked',
    'incidence_count',
  ])
  expect(withColumn(withColumn(tagged, 'tags', false), 'metadata.plan', false).columns).toEqual(
    columnIds(DEFAULT_COLUMNS),
  )
  expect(withColumn(DEFAULT_COLUMNS, 'name', false).columns).toContain('name')
  const ownOrder: ListAppearance = { ...DEFAULT_COLUMNS, columns: ['created', 'name'] }
  expect(withColumn(ownOrder, 'state', true).columns).toEqual(['state', 'created', 'name'])
})

test('only visible columns are requested', () => {
  expect(includeOf(DEFAULT_COLUMNS)).toBe('frequency,group,wait')
  const more = withColumn(withColumn(DEFAULT_COLUMNS, 'external_id', true), 'metadata.plan', true)
  expect(includeOf(more)).toBe('frequency,group,wait,external_id,metadata')
})

test('unknown stored values are ignored', () => {
  for (const wrong of [null, 'x', 3, [], {}, { columns: 'x', density: 'huge' }, { columns: ['price', 3] }]) {
    expect(parseAppearance(wrong)).toEqual(DEFAULT_COLUMNS)
  }
  expect(
    parseAppearance({ columns: ['tags', 'price', 'metadata.plan', 'tags', 'metadata.'], density: 'compact' }),
  ).toEqual({
    columns: ['name', 'tags', 'metadata.plan'],
    density: 'compact',
  })
})
