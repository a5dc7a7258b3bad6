import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { type RdataReader, rdataText } from '../dns/rdata.ts'
import { MalformedPacket } from '../dns/wire.ts'
import { isMatch } from '../record-types/compare.ts'
import { expectationOf, findZoneType, parseExpectedValues, recordTypeOf } from '../record-types/record-types.ts'
import { givenChecks } from './checks.ts'
import { givenApp } from './test-app.ts'

/**
 * `record`: arbitrary records in canonical text. `rdata`: rdata in hexadecimal and its canonical text. `malformed`: malformed
 * rdata. `stored`: an expected value as the user writes it and as exact mode stores it. `refused`: an expected value and a part
 * of the reason. `flexible`: an expected value, records, and whether they match. `zone`: an entry of a zone file and the
 * imported value, undefined if the import skips it. `monitored`: a monitor that expects the first of `rdata`, and the current
 * values for the first and the second of `rdata`.
 */
export type Samples = {
  record: fc.Arbitrary<string>
  isSingle?: boolean
} & Partial<Examples>

type Examples = {
  rdata: readonly [hex: string, text: string][]
  malformed: readonly string[]
  stored: readonly [written: string, value: string][]
  refused: readonly [written: string, reason: string][]
  flexible: readonly [expected: string, records: string[], isMatch: boolean][]
  zone: [entry: string, value: string | undefined]
  monitored: { name: string; expected: string; isExact?: false; found: string; other: string }
}

const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.string({ unit: 'grapheme', maxLength: 60 }))

/** Tests that hold for every record type, and the examples of this one. */
export function testRecordType(type: MonitorRecordType, { record, isSingle = false, ...examples }: Samples): void {
  const { rdata = [], malformed = [], stored = [], refused = [], flexible = [], zone, monitored } = examples
  const { recordType } = findZoneType(type) ?? {}
  const records = fc.uniqueArray(record, { minLength: 1, maxLength: isSingle ? 1 : 6 }).map((values) => values.sort())

  describe(type, () => {
    test('records match themselves in both modes, in any order and with duplicates', () => {
      fc.assert(
        fc.property(records, fc.boolean(), fc.nat(), (values, isExactMatch, offset) => {
          const rotated = [
            ...values.slice(offset % values.length),
            ...values.slice(0, offset % values.length),
            values[0]!,
          ]
          expect(matches(type, expectable(type, rotated, isExactMatch), values, isExactMatch)).toBe(true)
        }),
      )
    })

    test('values that match in exact mode also match in flexible mode', () => {
      fc.assert(
        fc.property(records, records, (expected, values) => {
          if (!matches(type, expectable(type, expected, true), values, true)) return
          expect(matches(type, expectable(type, expected, false), values, false)).toBe(true)
        }),
      )
    })

    test('any text is refused with a reason, or stored in a form that is stored unchanged', () => {
      const written = fc.oneof(
        record,
        anyText,
        anyText.map((text) => `"${text}"`),
        fc.tuple(record, anyText).map((parts) => parts.join(' ')),
        fc.tuple(record, fc.nat(), fc.constantFrom('*', '"', '\\', '(', ' ', ',', '=')).map(([text, number, part]) => {
          const index = number % (text.length + 1)
          return text.slice(0, index) + part + text.slice(index)
        }),
      )
      fc.assert(
        fc.property(written, fc.boolean(), (text, isExactMatch) => {
          const parsed = parseExpectedValues(text, type, isExactMatch)
          if (parsed.ok) expect(parseExpectedValues(parsed.values, type, isExactMatch)).toEqual(parsed)
          else expect(parsed.errors.expected_value?.text).toMatch(/^.+\.$/su)
        }),
        { numRuns: 500 },
      )
    })

    test('any rdata is malformed, or its text matches itself if it can be expected', () => {
      if (!recordType) return
      fc.assert(
        fc.property(mutated(rdata.map(([hex]) => hex)), (octets) => {
          const text = textOf(recordType, octets)
          if (text === undefined) return
          const { values, isExact } = expectationOf(type, [text])
          if (parseExpectedValues(values, type, isExact).ok) expect(matches(type, values, [text], isExact)).toBe(true)
        }),
        { numRuns: 2_000 },
      )
    })

    if (rdata.length > 0) {
      test.each(rdata)('rdata %s is %s', (hex, text) => {
        expect(textOf(recordType!, Buffer.from(hex, 'hex'))).toBe(text)
      })

      test('truncated or extended rdata is malformed or a different record', () => {
        for (const [hex, text] of rdata) {
          const octets = Buffer.from(hex, 'hex')
          expect(textOf(recordType!, octets.subarray(0, -1))).not.toBe(text)
          expect(textOf(recordType!, Buffer.concat([octets, Buffer.alloc(1)]))).not.toBe(text)
        }
      })
    }

    if (malformed.length > 0) {
      test.each(malformed)('rdata %j is malformed', (hex) => {
        expect(textOf(recordType!, Buffer.from(hex, 'hex'))).toBeUndefined()
      })
    }

    if (stored.length > 0) {
      test.each(stored)('%s is stored as %s', (written, value) => {
        expect(parseExpectedValues(written, type, true)).toEqual({ ok: true, values: [value] })
      })
    }

    if (refused.length > 0) {
      test.each(refused)('%s is refused: %s', (written, reason) => {
        const errors = { expected_value: expect.objectContaining({ text: expect.stringContaining(reason) }) }
        expect(parseExpectedValues(written, type, true)).toEqual({ ok: false, errors })
      })
    }

    if (flexible.length > 0) {
      test.each(flexible)('in flexible mode %s and %j: %j', (expected, values, isMatched) => {
        expect(matches(type, [expected], values, false)).toBe(isMatched)
      })
    }

    if (zone) {
      test('the import reads the record from a zone file', async () => {
        const [entry, value] = zone
        const { call } = await givenApp('sqlite')
        const body = { zone: `$ORIGIN example.com.\n${entry}\n` }
        const { rows } = (await call('/dashboard/api/import', { method: 'POST', body })).body
        const [{ record_type, result, expected_value }] = rows
        const expected = value === undefined ? ['skip', []] : ['create', [value]]
        expect([record_type, result, expected_value]).toEqual([type, ...expected])
      })
    }

    if (!monitored) return
    test('a monitor created by the API finds its record and detects another one', async () => {
      const { name, expected, isExact: is_exact_match = true, found, other } = monitored
      const { call, deps } = await givenApp('sqlite')
      const { set, check } = await givenChecks(deps.db)
      const monitor = { full_domain: name, record_type: type, expected_value: expected, is_exact_match }
      const { status, body } = await call('/monitors', { method: 'POST', body: monitor })
      expect([status, body.record_type]).toEqual([201, type])
      for (const [index, state, value] of [
        [0, 'VALID', found],
        [1, 'MISMATCH', other],
      ] as const) {
        set(name, recordTypeOf(type).queryType, [toBytesText(rdata[index]![0])])
        await check({ afterMs: 10 * DAY_MS })
        const { state: currentState, current_value } = (await call(`/monitors/${body.id}`)).body
        expect([currentState, current_value]).toEqual([state, [value]])
      }
    })
  })
}

const DAY_MS = 86_400_000

/** RFC 3597 section 5. */
const toBytesText = (hex: string) => `\\# ${hex.length / 2} ${hex}`

/** The records in the form of expected values. */
function expectable(type: MonitorRecordType, records: readonly string[], isExactMatch: boolean): string[] {
  const { asExpected = (value) => value } = recordTypeOf(type)
  return records.map((value) => asExpected(value, isExactMatch))
}

/** Undefined for malformed rdata. */
function textOf(format: { code: number; read(rdata: RdataReader): string }, octets: Buffer): string | undefined {
  // Compression pointers can refer to `a.example` before the rdata.
  const before = Buffer.concat([Buffer.alloc(12), Buffer.from('0161076578616d706c6500', 'hex')])
  const packet = { octets: Buffer.concat([before, octets]), tails: new Map() }
  try {
    return rdataText(format, packet, before.length, packet.octets.length)
  } catch (error) {
    if (error instanceof MalformedPacket) return undefined
    throw error
  }
}

/** Variants of the samples with bytes changed, removed or added. */
function mutated(rdata: readonly string[]): fc.Arbitrary<Buffer> {
  const random = fc.uint8Array({ maxLength: 60 }).map((octets) => Buffer.from(octets))
  if (rdata.length === 0) return random
  const changed = fc
    .tuple(
      fc.constantFrom(...rdata),
      fc.array(fc.tuple(fc.nat(), fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 0xc0, 12))), { maxLength: 3 }),
      fc.integer({ min: -3, max: 3 }),
    )
    .map(([hex, changes, lengthChange]) => {
      const octets = Buffer.from(hex, 'hex')
      for (const [index, octet] of changes) if (octets.length > 0) octets[index % octets.length] = octet
      return lengthChange < 0 ? octets.subarray(0, lengthChange) : Buffer.concat([octets, Buffer.alloc(lengthChange)])
    })
  return fc.oneof(random, changed)
}

/** Whether a monitor with these expected values is valid. Throws if they are refused. */
export function matches(
  type: MonitorRecordType,
  written: readonly string[],
  records: readonly string[],
  isExactMatch: boolean,
): boolean {
  const parsed = parseExpectedValues(written, type, isExactMatch)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
  const { queryType, observe, difference, flexibleView } = recordTypeOf(type)
  const values = flexibleView && !isExactMatch ? records.map(flexibleView) : [...records]
  const rrset = { name: 'www.example.com', type: queryType, ttl: 60, values }
  return isMatch(difference(parsed.values, observe({ kind: 'answer', rrset, chain: [] }), isExactMatch, []))
}
