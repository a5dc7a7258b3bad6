import { expect, test } from 'vitest'
import { canOverlap } from './rule-overlap.ts'

const rule = {
  ...{ id: 'rul_1', is_active: true, channels: ['chn_1'], escalation_channel: null, groups: null },
  ...{ record_types: null, states: null, name_pattern: null },
}
const overlaps = (one: object, other: object) => canOverlap({ ...rule, ...one }, { ...rule, id: 'rul_2', ...other })

test('rules overlap if they send to the same channel, also by escalation', () => {
  expect(overlaps({}, {})).toBe(true)
  expect(overlaps({}, { channels: ['chn_2'] })).toBe(false)
  expect(overlaps({}, { channels: ['chn_2'], escalation_channel: 'chn_1' })).toBe(true)
  expect(overlaps({}, { is_active: false })).toBe(false)
  expect(canOverlap(rule, rule)).toBe(false)
})

test('rules about other groups, types or states do not overlap', () => {
  expect(overlaps({ groups: ['grp_1'] }, { groups: ['grp_2'] })).toBe(false)
  expect(overlaps({ record_types: ['A'] }, { record_types: ['MX'] })).toBe(false)
  expect(overlaps({ states: ['TIMEOUT'] }, { states: ['MISMATCH'] })).toBe(false)
  expect(overlaps({ groups: ['grp_1'] }, { record_types: ['MX'] })).toBe(true)
})

test.each([
  ['*.example.com', '*.example.org', false],
  ['*.example.com', '*.shop.example.com', true],
  ['www.*', '*.example.com', true],
  ['www.*', 'mail.*', false],
  ['www.example.com', '*.EXAMPLE.com', true],
  ['example.com', '*.example.com', false],
  ['a*b*c', 'axxc', false],
  ['a*b*c', 'axbxc', true],
  ['*', 'www.example.com', true],
] as const)('name patterns %s and %s: %s', (one, other, may) => {
  expect(overlaps({ name_pattern: one }, { name_pattern: other })).toBe(may)
  expect(overlaps({ name_pattern: other }, { name_pattern: one })).toBe(may)
})
