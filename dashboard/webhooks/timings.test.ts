import { expect, test } from 'vitest'
import { msText, phasesOf } from './timings.ts'

test('phases are consecutive, without those that did not happen', () => {
  expect(phasesOf({ totalMs: 60, firstByteMs: 30, connectMs: 11, nameMs: 5 })).toEqual({
    phases: [
      { name: 'DNS', from: 0, ms: 5 },
      { name: 'Connect', from: 5, ms: 11 },
      { name: 'First byte', from: 16, ms: 30 },
    ],
    total: 60,
  })
})

test('rounding never makes the phases longer than the total', () => {
  expect(phasesOf({ totalMs: 10, connectMs: 4, firstByteMs: 7 }).total).toBe(11)
  expect(phasesOf({})).toEqual({ phases: [], total: 0 })
})

test('milliseconds become seconds from one second on', () => {
  expect([msText(7.6), msText(999), msText(30_004)]).toEqual(['8 ms', '999 ms', '30.00 s'])
})
