import { describe, expect, test } from 'vitest'
import { detectSource, EMPTY_INPUT, type ImportInput, importRequest, inputError } from './input.ts'

const input = (more: Partial<ImportInput>): ImportInput => ({ from: 'zone', ...EMPTY_INPUT, ...more })

describe('import input', () => {
  test('the request has only the selected source', () => {
    expect(importRequest(input({ from: 'csv', csv: 'name', zone: 'other' }), 'shop')).toEqual({
      csv: 'name',
      group: 'shop',
    })
  })

  test('the request has the zone name only if it was entered', () => {
    expect(importRequest(input({ zone: '@ A 192.0.2.1', origin: ' example.com ' }), '')).toEqual({
      zone: '@ A 192.0.2.1',
      origin: 'example.com',
    })
  })

  test('the request for a domain has no zone name', () => {
    expect(importRequest(input({ from: 'domain', domain: ' example.com', origin: 'x.example' }), '')).toEqual({
      domain: 'example.com',
    })
  })

  test('empty and too large input is not sent', () => {
    expect(inputError(input({}))).toMatch(/^Paste a zone file/)
    expect(inputError(input({ zone: 'x'.repeat(1_600_000) }))).toMatch(/^The file is 1\.5 MB/)
    expect(inputError(input({ zone: '@ A 192.0.2.1' }))).toBeUndefined()
  })
})

describe('a dropped file', () => {
  test.each([
    ['example.com.zone', '@ A 192.0.2.1', 'zone', 'example.com'],
    ['db.example.co.uk', '@ A 192.0.2.1', 'zone', 'example.co.uk'],
    ['records.csv', 'a,b', 'csv', ''],
    ['export.txt', 'Name;Type;Value\nwww;A;192.0.2.1', 'csv', ''],
    ['export.txt', '; name, type, value of example.com\n@ A 192.0.2.1', 'zone', ''],
    ['example.com.zone', '$ORIGIN example.org.\n@ A 192.0.2.1', 'zone', ''],
  ])('%s with %j is read as %s, of the zone %j', (name, text, from, origin) => {
    expect(detectSource(name, text)).toEqual({ from, origin })
  })
})
