import { describe, expect, test } from 'vitest'
import { detectSource, EMPTY_INPUT, type ImportInput, importRequest, inputError } from './import-input.ts'

const input = (more: Partial<ImportInput>): ImportInput => ({ from: 'zone', ...EMPTY_INPUT, ...more })

describe('what is imported', () => {
  test('is sent as the one way that was chosen', () => {
    expect(importRequest(input({ from: 'csv', csv: 'name', zone: 'other' }), 'shop')).toEqual({
      csv: 'name',
      group: 'shop',
    })
  })

  test('says the zone’s name only where it was given', () => {
    expect(importRequest(input({ zone: '@ A 192.0.2.1', origin: ' example.com ' }), '')).toEqual({
      zone: '@ A 192.0.2.1',
      origin: 'example.com',
    })
  })

  test('a domain has no zone name beside it', () => {
    expect(importRequest(input({ from: 'domain', domain: ' example.com', origin: 'x.example' }), '')).toEqual({
      domain: 'example.com',
    })
  })

  test('is not asked for while it is empty or too large', () => {
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
