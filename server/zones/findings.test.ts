import { expect, test } from 'vitest'
import type { ZoneFindingCode } from '#contract/zone-codes.ts'
import { MINUTE_MS } from '../times.ts'
import type { CheckResults, Result } from './checks.ts'
import { countFindings, type Finding, healthOf, nextFindings } from './findings.ts'

const SILENT: Result = { code: 'name_server_silent', about: 'ns2.example.net', params: { name_server: 'ns2' } }
const GONE: Result = { code: 'zone_gone', about: '', params: { zone: 'example.com' } }
const NOT_KNOWN: Result = { code: 'name_server_silent', about: 'ns2.example.net', isUnknown: true }
const saw = (...results: Result[]): CheckResults => ({ results, unknown: new Set() })
const NOTHING = saw()

/** Plays looks at these minutes, and returns what happened: `minute kind code`. */
function play(...looks: [minute: number, seen: CheckResults][]) {
  let findings: Finding[] = []
  const log: string[] = []
  let again: number | undefined
  for (const [minute, seen] of looks) {
    const after = nextFindings(findings, seen, minute * MINUTE_MS)
    log.push(...after.events.map(({ kind, finding: { code } }) => `${minute} ${kind} ${code}`))
    findings = after.findings
    again = after.lookAgainAt === undefined ? undefined : after.lookAgainAt / MINUTE_MS
  }
  return { log, findings, again }
}

test('one look confirms nothing, and the next one comes after five minutes', () => {
  const { log, findings, again } = play([0, saw(SILENT)])
  expect(log).toEqual([])
  expect(findings).toMatchObject([{ confirmedAt: null, firstSeenAt: 0 }])
  expect(again).toBe(5)
})

test('a second look some minutes later confirms a finding', () => {
  expect(play([0, saw(SILENT)], [5, saw(SILENT)]).log).toEqual(['5 began name_server_silent'])
  expect(play([0, saw(SILENT)], [3, saw(SILENT)])).toMatchObject({ log: [], again: 5.5 })
})

test('a critical finding is confirmed within a minute, and not by a look at the same moment', () => {
  expect(play([0, saw(GONE)]).again).toBeLessThan(1)
  expect(play([0, saw(GONE)], [0.5, saw(GONE)]).log).toEqual([])
  expect(play([0, saw(GONE)], [0.9, saw(GONE)]).log).toEqual(['0.9 began zone_gone'])
})

test('every look in between must agree', () => {
  expect(play([0, saw(SILENT)], [2, NOTHING], [5, saw(SILENT)]).log).toEqual([])
  const confirmed: [number, CheckResults][] = [
    [0, saw(SILENT)],
    [5, saw(SILENT)],
  ]
  expect(play(...confirmed, [60, NOTHING], [62, saw(SILENT)], [65, NOTHING]).log).toHaveLength(1)
})

test('a confirmed finding ends with the second look that does not see it', () => {
  const { log, findings } = play([0, saw(SILENT)], [5, saw(SILENT)], [60, NOTHING], [65, NOTHING])
  expect(log).toEqual(['5 began name_server_silent', '65 ended name_server_silent'])
  expect(findings).toEqual([])
})

test('what stays unknown waits for the regular looks after an hour', () => {
  expect(play([0, saw(SILENT)], [50, saw(NOT_KNOWN)]).again).toBe(52.5)
  expect(play([0, saw(SILENT)], [60, saw(NOT_KNOWN)]).again).toBeUndefined()
  const ended: [number, CheckResults][] = [
    [0, saw(SILENT)],
    [5, saw(SILENT)],
    [60, NOTHING],
  ]
  expect(play(...ended).again).toBe(65)
  expect(play(...ended, [120, saw(NOT_KNOWN)])).toMatchObject({ findings: [{}], again: undefined })
})

test('what a look does not know begins and ends nothing', () => {
  const unknownCode = { results: [], unknown: new Set<ZoneFindingCode>(['name_server_silent']) }
  for (const unknown of [saw(NOT_KNOWN), unknownCode]) {
    expect(play([0, unknown], [5, unknown])).toMatchObject({ log: [], findings: [] })
    expect(play([0, saw(SILENT)], [5, saw(SILENT)], [60, unknown], [65, unknown]).findings).toMatchObject([
      { confirmedAt: 5 * MINUTE_MS, missingSince: null },
    ])
    expect(play([0, saw(SILENT)], [5, unknown], [10, saw(SILENT)]).log).toEqual(['10 began name_server_silent'])
  }
})

test('a confirmed finding that is seen again changes nothing', () => {
  const confirmed = play([0, saw(SILENT)], [5, saw(SILENT)]).findings
  expect(nextFindings(confirmed, saw(SILENT), 60 * MINUTE_MS)).toMatchObject({
    changed: [],
    removed: [],
    events: [],
    lookAgainAt: undefined,
  })
})

test('the evidence has the first look and the confirming one, each with what it saw', () => {
  const later: Result = { ...SILENT, params: { name_server: 'later' } }
  expect(play([0, saw(SILENT)], [5, saw(later)], [60, saw(SILENT)]).findings[0]!.evidence).toEqual([
    { at: 0, params: { name_server: 'ns2' } },
    { at: 5 * MINUTE_MS, params: { name_server: 'later' } },
  ])
})

test('the health is the worst level of what is confirmed and not ignored', () => {
  const both = play([0, saw(SILENT, GONE)], [5, saw(SILENT, GONE)]).findings
  const count = (ignored: Parameters<typeof countFindings>[1]) => countFindings(both, ignored, 10)
  expect(healthOf(count([]))).toBe('critical')
  const ignore = { code: 'zone_gone', about: null, reason: 'r', until: null } as const
  expect(count([ignore])).toMatchObject({ critical: 0, error: 1, ignored: 1 })
  expect(healthOf(count([ignore]))).toBe('error')
  expect(healthOf(count([{ ...ignore, until: 10 }]))).toBe('critical')
  expect(healthOf(count([{ ...ignore, until: 11 }]))).toBe('error')
  expect(count([{ ...ignore, code: 'name_server_silent', about: 'ns1.example.com' }])).toMatchObject({ ignored: 0 })
  expect(healthOf(countFindings(play([0, saw(GONE)]).findings, [], 10))).toBe('ok')
})
