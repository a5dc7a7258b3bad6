import { describe, expect, test } from 'vitest'
import type { Overview } from '#contract/dashboard.ts'
import { agoText, overallVerdict, serverAlerts, stateCounts } from './overview-text.ts'

const NOW = Date.parse('2026-01-02T03:04:05.000Z')

const overview = (more: Partial<Overview> = {}): Overview => ({
  states: { VALID: 124 },
  active: 124,
  disabled: 0,
  failing: { monitors: 0, in_incidents: 0, awaited: 0, failed_now: 0, never_valid: 0, incidents: 0, acknowledged: 0 },
  incidents: [],
  attention: [],
  more: 0,
  changes: [],
  first_results: null,
  checks: { on_time: 124, late: 0, last_checked: '2026-01-02T03:03:53.000Z' },
  webhooks: { count: 1, paused: 0, failing: 0, late: 0, trouble: [] },
  processes: { checking: 1, cut_off: 0, delivering: 1 },
  has: { monitors: true, webhooks: true, alerts: true, arrived: true },
  ...more,
})
describe('the overall state', () => {
  test('all monitors are valid, with the time of the last check', () => {
    expect(overallVerdict(overview(), NOW)).toEqual({
      tone: 'good',
      title: '124 monitors valid',
      detail: 'Last check: 12 seconds ago.',
    })
  })

  test('failing monitors are counted by where they are, issues of webhooks apart', () => {
    const webhooks = { count: 30, paused: 1, failing: 24, late: 0, trouble: [] }
    const failing = {
      monitors: 6,
      in_incidents: 3,
      awaited: 1,
      failed_now: 0,
      never_valid: 2,
      incidents: 2,
      acknowledged: 1,
    }
    expect(overallVerdict(overview({ failing }), NOW)).toEqual({
      tone: 'bad',
      title: '6 monitors are failing',
      detail: '3 in 2 open incidents (1 acknowledged), 1 awaited, 2 never valid. Last check: 12 seconds ago.',
    })
    expect(overallVerdict(overview({ failing, webhooks }), NOW).title).toBe('6 monitors are failing, 25 other issues')
    expect(overallVerdict(overview({ webhooks }), NOW).title).toBe('25 issues need attention')
    const awaited = { ...failing, monitors: 1, in_incidents: 0, never_valid: 0, incidents: 0, acknowledged: 0 }
    expect(overallVerdict(overview({ failing: awaited }), NOW)).toMatchObject({
      tone: 'idle',
      title: '1 monitor is failing',
      detail: 'Awaited. Last check: 12 seconds ago.',
    })
  })

  test('a failing webhook, stopped checks or deliveries and failing canary names need attention', () => {
    const { webhooks, checks } = overview()
    for (const [more, tone, title] of [
      [{ webhooks: { ...webhooks, failing: 1 } }, 'warn', undefined],
      [{ webhooks: { ...webhooks, late: 1 } }, 'warn', 'Deliveries to 1 webhook are more than a minute late.'],
      [
        {
          processes: { checking: 0, cut_off: 0, delivering: 1 },
          checks: { ...checks, last_checked: '2026-01-02T03:01:05.000Z' },
        },
        'bad',
        'No process reports that it checks monitors.',
      ],
      [
        { processes: { checking: 0, cut_off: 0, delivering: 1 } },
        'warn',
        'Checks are slow. The last one completed 12 seconds ago.',
      ],
      [
        { processes: { checking: 1, cut_off: 0, delivering: 0 } },
        'bad',
        'No process reports that it delivers webhook requests.',
      ],
      [{ processes: { checking: 1, cut_off: 1, delivering: 1 } }, 'bad', 'The server cannot resolve its canary names.'],
      [
        { processes: { checking: 2, cut_off: 1, delivering: 1 } },
        'warn',
        '1 of 2 checking processes cannot resolve their canary names.',
      ],
    ] as const) {
      const given = overview(more as Partial<Overview>)
      expect(overallVerdict(given, NOW)).toMatchObject({ tone, title: '1 issue needs attention' })
      expect(serverAlerts(given, NOW)[0]?.title).toBe(title)
    }
  })

  test('late checks need attention', () => {
    const checks = { on_time: 120, late: 4, last_checked: '2026-01-02T02:04:05.000Z' }
    expect(overallVerdict(overview({ checks }), NOW)).toEqual({
      tone: 'warn',
      title: '1 issue needs attention',
      detail: 'Last check: 60 minutes ago.',
    })
    expect(serverAlerts(overview({ checks }), NOW)[0]?.title).toBe('4 checks are more than a minute late.')
  })

  test('unchecked monitors are not called valid', () => {
    const states = { VALID: 1, UNSET: 1 }
    expect(overallVerdict(overview({ states, active: 2 }), NOW)).toMatchObject({
      tone: 'idle',
      title: '1 monitor has no result yet',
    })
  })

  test('disabled monitors are not called valid', () => {
    expect(overallVerdict(overview({ states: {}, active: 0, disabled: 3 }), NOW)).toMatchObject({
      tone: 'idle',
      title: 'No active monitors',
    })
  })
})

test.each([
  [-500, 'just now'],
  [12_400, '12 seconds ago'],
  [100_000, '2 minutes ago'],
  [3 * 3_600_000, '3 hours ago'],
  [3 * 86_400_000, '3 days ago'],
])('%i ms ago is %j', (ms, text) => expect(agoText(ms)).toBe(text))

test('states have the order of the bar, without empty ones', () => {
  expect(stateCounts(overview({ states: { TIMEOUT: 1, MISMATCH: 2, VALID: 3, UNSET: 0 } }))).toEqual([
    { state: 'VALID', count: 3 },
    { state: 'MISMATCH', count: 2 },
    { state: 'TIMEOUT', count: 1 },
  ])
})
