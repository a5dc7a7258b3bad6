import fc from 'fast-check'
import { expect, test } from 'vitest'
import { givenChecks } from '../testing/checks.ts'
import { onBothEngines } from '../testing/database.ts'
import { testRecordType } from '../testing/record-type-suite.ts'
import { expectationOf, parseExpectedValues } from './record-types.ts'

const numbers = fc.array(fc.nat(2 ** 32 - 1), { minLength: 5, maxLength: 5 })
const TEXT = 'ns1.example.com host.master.example.com 2026112201 3600 900 1209600 300'

testRecordType('SOA', {
  record: numbers.map((all) => `ns1.example.com hostmaster.example.com ${all.join(' ')}`),
  isSingle: true,
  rdata: [
    [
      '034e7331076578616d706c6503636f6d0004686f7374066d6173746572076578616d706c6503636f6d0078c404c900000e1000000384001275000000012c',
      TEXT,
    ],
    [
      '036e7332076578616d706c6503636f6d0004686f7374066d6173746572076578616d706c6503636f6d0078c404ca00000e1000000384001275000000012c',
      'ns2.example.com host.master.example.com 2026112202 3600 900 1209600 300',
    ],
    [
      '016100086a6f686e2e646f65076578616d706c6503636f6d0000000001000000020000000300000004ffffffff',
      'a john\\046doe.example.com 1 2 3 4 4294967295',
    ],
    ['c00cc00c0000000100000001000000010000000100000001', 'a.example a.example 1 1 1 1 1'],
  ],
  malformed: [
    '',
    '00',
    '0000',
    '00000000000100000001000000010000000100000',
    '00000000000100000001000000010000000100000001ff',
  ],
  stored: [
    ['NS1.example.com. host.master.example.com. ( 2026112201 ; 1h 15m 2w 5m )'.replace(';', ''), TEXT],
    [
      'ns1.example.com john.doe@example.com 1 1h30m 900 2W 300',
      'ns1.example.com john\\046doe.example.com 1 5400 900 1209600 300',
    ],
    ['. john\\.doe.example.com 1 2 3 4 5', '. john\\046doe.example.com 1 2 3 4 5'],
  ],
  refused: [
    [
      '2026112201',
      'is not a valid SOA record. Use the format "mname rname serial refresh retry expire minimum", as in',
    ],
    ['a. b. 4294967296 1 1 1 1', 'The serial "4294967296" is invalid. It must be a number from 0 to 4294967295.'],
    ['a. b. 1 9999999999w 1 1 1', 'The refresh time "6047999999395200" is invalid'],
    ['a. b. * 1 1 1 1', 'needs is_exact_match false'],
  ],
  flexible: [
    ['ns1.example.com host.master.example.com * 3600 900 1209600 300', [TEXT], true],
    ['ns1.example.com * * * * * *', [TEXT], true],
    ['ns2.example.com * * * * * *', [TEXT], false],
    ['* * * * * 2w *', [TEXT], true],
  ],
  zone: ['@ SOA ns1 host.master 1 2 3 4 5', undefined],
  monitored: {
    name: 'example.com',
    expected: 'ns1.example.com. host.master.example.com. * 1h 15m 2w 5m',
    isExact: false,
    found: TEXT.replace('2026112201', '*'),
    other: 'ns2.example.com host.master.example.com * 3600 900 1209600 300',
  },
})

test('a new SOA monitor has a wildcard for the serial', () => {
  const values = ['ns1.example.com host.master.example.com * 3600 900 1209600 300']
  expect(expectationOf('SOA', [TEXT])).toEqual({ values, isExact: false })
})

test('a flexible monitor refuses a serial', () => {
  const expected_value = expect.objectContaining({ code: 'serial_in_flexible_mode' })
  expect(parseExpectedValues(TEXT, 'SOA', false)).toEqual({ ok: false, errors: { expected_value } })
})

onBothEngines('a new serial', (fresh) => {
  test.each([
    [true, TEXT, 1],
    [false, TEXT.replace('2026112201', '*'), 0],
  ])('is a change where the monitor is exact (%j)', async (is_exact_match, expected, changes) => {
    const { monitor, set, check } = await givenChecks(await fresh())
    set('example.com', 'SOA', [TEXT])
    await monitor({ full_domain: 'example.com', record_type: 'SOA', expected_value: [expected], is_exact_match })
    expect(await check()).toBe(1)
    set('example.com', 'SOA', [TEXT.replace('2026112201', '2026112202')])
    expect(await check()).toBe(changes)
    set('example.com', 'SOA', [TEXT.replace('ns1', 'ns2').replace('2026112201', '2026112203')])
    expect(await check()).toBe(1)
  })
})
