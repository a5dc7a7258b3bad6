import { expect, test } from 'vitest'
import { recordToPaste } from './record-to-paste.ts'

type Given = {
  record_type?: string
  expected: string[]
  current?: string[]
  isExact?: boolean
  code?: string
  name?: string
}

function recordOf({
  record_type = 'A',
  expected,
  current = [],
  isExact = true,
  code = 'missing_values',
  name = 'www.example.com',
}: Given) {
  const missing = expected.filter((value) => !current.includes(value))
  const params = {
    ...{ name: 'www.example.com', record_type, record: { name, type: record_type }, missing },
    ...{
      observed: current,
      unexpected: current,
      chain: [],
      zone: 'example.com',
      name_servers: [],
      target: 'a.example',
    },
  }
  const diagnosis = JSON.stringify({ verdict: { code, params }, confirmation: [], paths: [] })
  const row = { record_type, expected_values: JSON.stringify(expected), current_values: JSON.stringify(current) }
  return recordToPaste({ ...row, is_exact_match: isExact ? 1 : 0, diagnosis }, missing)
}

test('the record to paste is the expected one; in flexible mode the other records stay', () => {
  const given = { expected: ['192.0.2.1'], current: ['192.0.2.9'] }
  expect(recordOf({ ...given, name: 'edge.example.com' })?.name).toBe('edge.example.com')
  expect(recordOf(given)).toEqual({ name: 'www.example.com', type: 'A', data: ['192.0.2.1'] })
  expect(recordOf({ ...given, isExact: false })?.data).toEqual(['192.0.2.1', '192.0.2.9'])
  const texts = { record_type: 'TXT', expected: ['one "two"'], current: ['a\\b'], isExact: false }
  expect(recordOf(texts)?.data).toEqual(['"one \\"two\\""', '"a\\\\b"'])
  expect(recordOf({ record_type: 'SPF', expected: ['v=spf1 -all'], code: 'no_records' })).toMatchObject({
    ...{ type: 'TXT', data: ['"v=spf1 -all"'] },
  })
})

test('there is none where other records are not the repair, or an expected value is not a complete record', () => {
  const given = { expected: ['192.0.2.1'] }
  for (const code of ['cname_loop', 'lame_delegation', 'no_such_target'])
    expect(recordOf({ ...given, code })).toBeNull()
  expect(recordOf({ expected: ['192.0.2.0/24'], isExact: false })).toBeNull()
  expect(recordOf({ record_type: 'MX', expected: ['mail.example.com'] })).toBeNull()
})
