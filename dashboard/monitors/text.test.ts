import { describe, expect, test } from 'vitest'
import { importSummary, type MonitorSummaryInput, matchText, newMonitorSummary } from './text.ts'

const watch = (more: Partial<MonitorSummaryInput> = {}): MonitorSummaryInput => ({
  name: 'www.example.com',
  types: ['A'],
  frequency: 5,
  notify: 'immediately',
  group: 'Default',
  listeners: { count: 2, isMore: false, paused: 0 },
  ...more,
})

describe('the summary of new monitors', () => {
  test('says what is checked, how often, and who is notified', () => {
    expect(newMonitorSummary(watch())).toBe(
      'Zonewatch checks the A record of www.example.com every 5 minutes. Every change is sent to 2 webhooks of the group Default.',
    )
  })

  test('names the types of several records', () => {
    expect(newMonitorSummary(watch({ types: ['A', 'MX', 'TXT'], notify: 'on_success' }))).toBe(
      'Zonewatch checks 3 records (A, MX and TXT) of www.example.com every 5 minutes. Changes to valid are sent to 2 webhooks of the group Default.',
    )
  })

  test('says that no request is sent if the group has no webhook', () => {
    expect(newMonitorSummary(watch({ listeners: { count: 0, isMore: false, paused: 0 } }))).toContain(
      'No webhook request is sent: the group Default has no active webhook.',
    )
  })

  test('says nothing about webhooks while they load', () => {
    expect(newMonitorSummary(watch({ listeners: undefined }))).toBe(
      'Zonewatch checks the A record of www.example.com every 5 minutes.',
    )
  })

  test('says that a webhook is paused', () => {
    expect(newMonitorSummary(watch({ listeners: { count: 1, isMore: false, paused: 1 } }))).toContain(
      'The webhook of the group Default receives every change. It is paused:',
    )
  })
})

describe('the summary of an import', () => {
  const { frequency, notify, group, listeners } = watch()
  const all = { frequency, notify, group, listeners }

  test('says how many records are checked, and how many rows have their own settings', () => {
    expect(importSummary({ ...all, count: 30, own: 2 })).toBe(
      'Zonewatch checks 30 records every 5 minutes. Every change is sent to 2 webhooks of the group Default. Each first result is sent too. 2 rows have their own settings.',
    )
    expect(importSummary({ ...all, count: 30, own: 0 })).not.toContain('of their own')
  })

  test('says that no rows are selected', () => {
    expect(importSummary({ ...all, count: 0, own: 0 })).toBe('No rows selected for import.')
  })
})

describe('match modes', () => {
  test('are explained with the values', () => {
    expect(matchText('A', ['192.0.2.1', '192.0.2.2'], true)).toBe(
      'Valid when the records are exactly 192.0.2.1 and 192.0.2.2.',
    )
    expect(matchText('CNAME', ['edge.cdn.example'], false)).toBe(
      'Valid when edge.cdn.example is any name on the CNAME chain.',
    )
  })

  test('many or long values are counted', () => {
    expect(matchText('NS', ['a', 'b', 'c', 'd', ''], true)).toBe('Valid when the records are exactly these 4 values.')
    expect(matchText('TXT', ['x'.repeat(60)], false)).toMatch(/^Valid when the texts include this text\./)
  })

  test('empty values are ignored', () => {
    expect(matchText('PTR', [''], true)).toBe('Valid when the records are exactly the values you enter.')
  })
})
