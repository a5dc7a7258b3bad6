import { expect, test } from 'vitest'
import { RECORD_TYPES } from '#contract/record-types.ts'
import { parseExpectedValues, recordTypeOf } from '#server/record-types/record-types.ts'
import { givenApp } from '#server/testing/test-app.ts'

const IMPORT = '/dashboard/api/import'

test('the import handles a zone file whose TTL has 45 digits and a letter', async () => {
  const world = await givenApp('sqlite')
  const body = { zone: `a.example.com. ${'1'.repeat(45)}x A 192.0.2.1\nb.example.com. 1h30m A 192.0.2.1` }
  const answer = await world.call(IMPORT, { method: 'POST', body })
  expect(answer.status).toBe(200)
  expect(answer.body.rows.map(({ result }: { result: string }) => result)).toEqual(['reject', 'create'])
})

test('the import refuses a row with a cell of 125,000 lines', async () => {
  const world = await givenApp('sqlite')
  const csv = `name,type,value\na.example,A,"${'1\n'.repeat(125_000)}"\nb.example,A,192.0.2.1\n`
  const answer = await world.call(IMPORT, { method: 'POST', body: { csv } })
  expect(answer.status).toBe(200)
  expect(answer.body.rows).toMatchObject([
    { result: 'reject', reason: 'A cell has 250002 characters. At most 65536 are allowed.' },
    { result: 'create' },
  ])
})

/** Values of up to 65,535 bytes from an attacker's zone, made of texts that a pattern may repeat. */
const REPEATED = [
  ' ',
  '\t',
  '\\"',
  '"',
  '" ',
  '("',
  '"(" ',
  '\\',
  ';',
  '; ',
  '=',
  '%{',
  '%',
  'v=spf1 ',
  '.',
  ',',
  '0 ',
  '\n',
]
const BEGINS = ['', '"', '("', '(', 'v=spf1 ', 'v=DKIM1;p=', 'v=DMARC1;', '0 issue "', '10 ']

test('hostile DNS values can be compared with any expected value', () => {
  const observed = BEGINS.flatMap((begin) => REPEATED.map((part) => (begin + part.repeat(65_535)).slice(0, 65_535)))
  for (const type of ['TXT', 'SPF', 'CAA'] as const) {
    const { missing } = recordTypeOf(type).difference(['v=spf1 -all'], observed, false, [])
    expect([type, missing]).toEqual([type, ['v=spf1 -all']])
  }
})

test('a hostile expected value is refused or parsed', () => {
  for (const type of RECORD_TYPES) {
    for (const begin of BEGINS) {
      for (const part of REPEATED) {
        for (const length of [1_000, 100_000]) {
          const text = (begin + part.repeat(length)).slice(0, length)
          expect(parseExpectedValues(text, type, false).ok).toBeTypeOf('boolean')
        }
      }
    }
  }
})
