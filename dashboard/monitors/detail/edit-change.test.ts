import { expect, test } from 'vitest'
import { changedPart } from '../../edit/rebase.ts'
import type { MonitorDetails } from '../queries.ts'
import { type Draft, draftOf, FIELDS, resetsState, withoutEmptyLines } from './edit-change.ts'

const monitor: MonitorDetails = {
  id: 'mon_1',
  created: '2026-11-21T09:30:00.000Z',
  domain: 'example.com',
  subdomain: 'www',
  record_type: 'A',
  expected_value: ['192.0.2.1', '192.0.2.2'],
  current_value: null,
  is_exact_match: true,
  state: 'UNSET',
  incidence_count: 0,
  last_checked: null,
  is_active: true,
  notify: 'immediately',
  frequency: 10,
  group: 'production',
}
const draft = draftOf(monitor)
const changeTo = (other: Draft) => changedPart(FIELDS, draft, other)

test('unchanged fields are not sent, also in another order or with empty lines', () => {
  expect(changeTo({ ...draft, expected_value: ['192.0.2.2', '', '192.0.2.1'] })).toEqual({})
})

test('each changed field is sent as the API expects it', () => {
  const other = {
    name: ' shop.example.com ',
    record_type: 'AAAA' as const,
    expected_value: ['2001:db8::1', ' '],
    is_exact_match: false,
    notify: 'on_success' as const,
    frequency: '30',
    resolution: 'resolvers' as const,
    group: 'default',
  }
  expect(changeTo(other)).toEqual({
    full_domain: 'shop.example.com',
    record_type: 'AAAA',
    expected_value: ['2001:db8::1'],
    is_exact_match: false,
    notify: 'on_success',
    frequency: 30,
    resolution: 'resolvers',
    group: 'default',
  })
})

test('another record or expected value resets the state; interval and notifications do not', () => {
  expect(resetsState(changeTo({ ...draft, expected_value: ['192.0.2.9'] }))).toBe(true)
  expect(resetsState(changeTo({ ...draft, name: 'example.com' }))).toBe(true)
  expect(resetsState(changeTo({ ...draft, resolution: 'public' }))).toBe(true)
  expect(resetsState(changeTo({ ...draft, frequency: '60', notify: 'on_success', group: 'x' }))).toBe(false)
})

test('empty lines are removed, except for one', () => {
  expect(withoutEmptyLines(['a', ' ', 'b'])).toEqual(['a', 'b'])
  expect(withoutEmptyLines(['', ''])).toEqual([''])
})
