import { expect, test } from 'vitest'
import { parseTime, parseTimes, toIso } from './times.ts'

test.each([
  ['1795253400', '2026-11-21T09:30:00.000Z'],
  ['1795253400.25', '2026-11-21T09:30:00.250Z'],
  ['2026-11-21T09:30:00Z', '2026-11-21T09:30:00.000Z'],
  ['2026-11-21T09:30:00+01:00', '2026-11-21T08:30:00.000Z'],
  ['2026-11-21T09:30:00.123456', '2026-11-21T09:30:00.123Z'],
  ['2026-11-21', '2026-11-21T00:00:00.000Z'],
  ['2026-11-21T09:30', '2026-11-21T09:30:00.000Z'],
  ['2026-11-21t09:30:00z', '2026-11-21T09:30:00.000Z'],
  ['2026-11-21T09:30:00,5-0130', '2026-11-21T11:00:00.500Z'],
  ['20261121T093000Z', '2026-11-21T09:30:00.000Z'],
  ['20261121T093000.25Z', '2026-11-21T09:30:00.250Z'],
  ['20261121T0930+01', '2026-11-21T08:30:00.000Z'],
  ['20261121T09', '2026-11-21T09:00:00.000Z'],
  ['20261121', '2026-11-21T00:00:00.000Z'],
  ['20261341', '1970-08-23T12:09:01.000Z'],
])('the time %s is %s', (text, instant) => {
  expect(toIso(parseTime('since', text))).toBe(instant)
})

test.each([
  '',
  'yesterday',
  '2026-1-1',
  '2026-13-01',
  '2026-02-30',
  '2026-04-31T00:00:00Z',
  '2026-11-21Z',
  '2026-11-21T25:00:00Z',
  '-1',
  '2026-1121',
  '20261121T09:3000Z',
  '20261121T093000+1',
  '20261121T',
  '20261121T246000Z',
  '1795253400000',
])('"%s" is no time, and the error says what is allowed', (text) => {
  expect(() => parseTime('since', text)).toThrow(
    expect.objectContaining({
      errors: { since: expect.objectContaining({ code: 'invalid_time' }) },
    }),
  )
})

test('every field that is no time is named at once, and what is not given stays away', () => {
  expect(parseTimes({ since: '2026-11-21', until: undefined }, ['since', 'until'])).toEqual({ since: 1795219200000 })
  expect(parseTimes({ since: 20261121 }, ['since'])).toEqual({ since: 20261121000 })
  expect(() => parseTimes({ since: 'x', until: -1 }, ['since', 'until'])).toThrow(
    expect.objectContaining({ errors: { since: expect.anything(), until: expect.anything() } }),
  )
})
