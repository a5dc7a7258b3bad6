import { expect, test } from 'vitest'
import { filtersOf } from './events-query.ts'

test('the filters become API parameters, and days are inclusive', () => {
  const begin = new Date(2026, 10, 20).getTime()
  const end = new Date(2026, 10, 22).getTime()
  expect(
    filtersOf({ group: 'production', old: 'VALID', new: 'MISMATCH', since: '2026-11-20', until: '2026-11-21' }),
  ).toEqual({
    group: 'production',
    old_state: 'VALID',
    new_state: 'MISMATCH',
    occurred_after: new Date(begin - 1).toISOString(),
    occurred_before: new Date(end).toISOString(),
  })
})

test('an invalid date and a cursor do not filter', () => {
  const filters = filtersOf({ since: 'soon', after: 'cursor' })
  expect(Object.entries(filters).filter(([, value]) => value !== undefined)).toEqual([['is_change', true]])
})

test('first results are included when they are filtered for', () => {
  expect(filtersOf({ old: 'UNSET' })).toMatchObject({ old_state: 'UNSET', is_change: undefined })
})
