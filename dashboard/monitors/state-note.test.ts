import { expect, test } from 'vitest'
import type { MonitorResponse } from '#contract/monitors.ts'
import { isCheckLate, stateNote } from './state-note.ts'

const NOW = Date.parse('2026-01-02T03:00:00.000Z')
const monitor = { is_active: true, last_checked: '2026-01-02T02:48:00.000Z', frequency: 5 }
const wait = { state: 'waiting' } as NonNullable<MonitorResponse['wait']>

test('a check of 12 minutes ago is late at an interval of 5 minutes, and not at one of 10', () => {
  expect(stateNote(monitor, NOW)).toBe('The next check is late, so the state may be out of date.')
  expect(isCheckLate({ ...monitor, frequency: 10 }, NOW)).toBe(false)
})

test('a disabled monitor, one without a check and one without its interval are not late', () => {
  expect(isCheckLate({ ...monitor, is_active: false }, NOW)).toBe(false)
  expect(isCheckLate({ ...monitor, last_checked: null }, NOW)).toBe(false)
  expect(isCheckLate({ is_active: true, last_checked: monitor.last_checked }, NOW)).toBe(false)
})

test('a record that is awaited is no fault', () => {
  expect(stateNote({ ...monitor, wait }, NOW)).toBe('Zonewatch waits for this record.')
  expect(stateNote({ ...monitor, frequency: 60, wait: { ...wait, state: 'timed_out' } }, NOW)).toBeUndefined()
})
