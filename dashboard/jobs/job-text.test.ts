import { expect, test } from 'vitest'
import { MonitorChange } from '#contract/monitors.ts'
import { changeText, fieldLabel, migrationText, progressText, titleOf, valueText } from './job-text.ts'

const JOB = {
  action: 'update',
  state: 'finished',
  total: 300,
  done: 300,
  changed: 300,
  failed: 0,
  dry_run: false,
} as const

test.each([
  [JOB, '300 monitors changed'],
  [{ ...JOB, changed: 1, failed: 2 }, '1 monitor changed, 2 failed, 297 unchanged'],
  [{ ...JOB, changed: 298, failed: 2, dry_run: true }, '298 monitors would change, 2 cannot change'],
  [{ ...JOB, state: 'canceled', done: 250, changed: 250 } as const, '250 monitors changed, 50 not processed'],
  [{ ...JOB, state: 'running', done: 250 } as const, '250 of 300 monitors'],
  [{ ...JOB, state: 'running', total: null } as const, 'Finding the monitors'],
  [{ ...JOB, state: 'queued', total: null } as const, 'Waiting for earlier jobs'],
  [{ ...JOB, action: 'retry_requests' } as const, '300 requests queued again'],
  [
    { ...JOB, action: 'retry_requests', changed: 1, dry_run: true } as const,
    '1 request would be sent again, 299 unchanged',
  ],
  [{ ...JOB, action: 'check', dry_run: true } as const, '300 monitors would be checked'],
  [{ ...JOB, action: 'check' } as const, '300 monitors due for a check'],
  [
    { ...JOB, action: 'delete', changed: 298, failed: 2, dry_run: true } as const,
    '298 monitors would be deleted, 2 cannot be deleted',
  ],
  [{ ...JOB, action: 'plan', dry_run: true } as const, '300 monitors would get a planned change'],
  [{ ...JOB, action: 'retry_requests', state: 'running', total: null } as const, 'Finding the requests'],
])('the progress of a job is one sentence', (job, text) => {
  expect(progressText(job)).toBe(text)
})

test.each([
  [{ action: 'update', change: { expected_value: ['192.0.2.2'] } }, 'Set expected values to 192.0.2.2'],
  [{ action: 'update', change: { is_active: false } }, 'Disable'],
  [{ action: 'update', change: { frequency: 30 } }, 'Set the check interval to 30 minutes'],
  [{ action: 'update', change: { frequency: 30, notify: 'on_success' } }, 'Change interval, webhook notifications'],
  [{ action: 'move', change: { group: 'shop' } }, 'Move to group shop'],
  [{ action: 'delete', change: null }, 'Delete'],
  [{ action: 'delete', change: { delete_empty_groups: true } }, 'Delete, and the groups left empty'],
] as const)('the title of a job says what it does', (job, text) => {
  expect(titleOf(job as never)).toBe(text)
})

test.each(Object.keys(MonitorChange.properties))('the field %s of a change has a label', (field) => {
  expect(fieldLabel(field)).not.toBe(field)
})

test('values are shown as people write them', () => {
  expect([undefined, null, [], {}, ''].map(valueText)).toEqual(['none', 'none', 'none', 'none', 'none'])
  expect(valueText({ plan: 'big', seats: 3 })).toBe('plan: big, seats: 3')
  expect(valueText('2026-12-22T08:00:00.000Z')).toMatch(/^Dec 22, 2026, \d/)
  expect(changeText(['192.0.2.1', '192.0.2.3'], ['192.0.2.2', '192.0.2.3'])).toBe('192.0.2.1 → 192.0.2.2')
  expect(changeText(undefined, 'a')).toBe('a')
  expect(changeText(null, 'a')).toBe('none → a')
})

test('the progress of a migration is one sentence', () => {
  const counts = { total: 20_000, scheduled: 0, in_progress: 1_200, done: 18_790, not_arrived: 8, canceled: 2 }
  expect(migrationText(counts)).toBe('18,790 of 20,000 changes done, 1,200 in progress, 8 not arrived, 2 canceled')
})
