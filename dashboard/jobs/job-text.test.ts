import { expect, test } from 'vitest'
import { progressText, titleOf } from './job-text.ts'

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
] as const)('the title of a job says what it does', (job, text) => {
  expect(titleOf(job as never)).toBe(text)
})
