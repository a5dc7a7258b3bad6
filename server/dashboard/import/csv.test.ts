import { expect, test } from 'vitest'
import type { Problem } from '../../problem.ts'
import { readCsv } from './csv.ts'

const made = (text: string, origin?: string) =>
  readCsv(text, origin).map(({ name, type, values, fate }) => [name, type, ...values, ...(fate ? [fate] : [])])

test('columns are known by their usual names, in any order and with any separator', () => {
  for (const text of [
    'name,type,value\nwww.example.com,A,192.0.2.1\n',
    'Type;Record Name;Content;TTL\r\nA;www.example.com;192.0.2.1;300\r\n',
    '\ufeffFQDN\trecord_type\tExpected Value\nwww.example.com\ta\t192.0.2.1',
    'domain,subdomain,type,value\nexample.com,www,A,192.0.2.1',
    '"name","type","value"\n\n"www.example.com","A","192.0.2.1"\n,,\n',
  ]) {
    expect(made(text)).toEqual([['www.example.com', 'A', '192.0.2.1']])
  }
  expect(made('name,type,value\n@,A,192.0.2.1\nwww,A,192.0.2.2\nexample.com,AAAA,::1', 'example.com.')).toEqual([
    ['example.com', 'A', '192.0.2.1'],
    ['www.example.com', 'A', '192.0.2.2'],
    ['example.com', 'AAAA', '::1'],
  ])
})

test('records of one name, type and settings are one row; a cell may hold a value a line, and MX its priority elsewhere', () => {
  const text = `name,type,value,priority,group
a.example,A,192.0.2.1,,
a.example,A,"192.0.2.2
192.0.2.3",,
A.example.,A,192.0.2.4,,
a.example,A,192.0.2.5,,shop
b.example,MX,mx1.example,10,
b.example,MX,20 mx2.example,99,
`
  expect(readCsv(text, undefined).map(({ line, values, group }) => [line, values, group])).toEqual([
    [2, ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'], undefined],
    [6, ['192.0.2.5'], 'shop'],
    [7, ['10 mx1.example', '20 mx2.example'], undefined],
  ])
})

test('the settings of a row are read', () => {
  const text = 'name,type,value,exact,notify,frequency\na.example,TXT,hi,No,On_Success,30\nb.example,TXT,hi,,,\n'
  expect(readCsv(text, undefined)).toEqual([
    { line: 2, name: 'a.example', type: 'TXT', values: ['hi'], isExact: false, notify: 'on_success', frequency: 30 },
    { line: 3, name: 'b.example', type: 'TXT', values: ['hi'], isExact: true },
  ])
})

test('what is wrong with a row is said with what is allowed', () => {
  const text = `name,type,value,exact,notify,frequency
a.example,,1,,,
a.example,FOO,1,,,
a.example,SRV,1,,,
a.example,A,1,perhaps,,
a.example,A,1,,sometimes,
a.example,A,1,,,2.5
`
  expect(readCsv(text, undefined).map(({ line, fate, why }) => [line, fate, why])).toEqual([
    [2, 'refuse', 'The type is empty.'],
    [3, 'refuse', 'The type is FOO; it must be one of A, AAAA, CNAME, MX, TXT, NS, PTR, SPF, CAA.'],
    [4, 'skip', 'SRV records are not watched.'],
    [5, 'refuse', 'exact is "perhaps"; it must be yes or no.'],
    [6, 'refuse', 'notify is "sometimes"; it must be one of immediately, on_success, after_success.'],
    [7, 'refuse', 'frequency is "2.5"; it must be minutes from 5 to 120.'],
  ])
  const [row] = readCsv('name,type,value\na.example,TXT,"say "hi""\n', undefined)
  expect([row?.fate, row?.line]).toEqual(['refuse', 2])
})

test('without column names nothing is guessed', () => {
  for (const [text, sentence] of [
    ['', 'is empty; its first line names the columns: name, type, value.'],
    ['www.example.com,A,192.0.2.1', 'must begin with a line that names the columns; missing: name, type, value.'],
    ['name,value\n', 'must begin with a line that names the columns; missing: type.'],
  ] as const) {
    try {
      readCsv(text, undefined)
      expect(text).toBe('refused')
    } catch (error) {
      expect((error as Problem).errors?.csv).toContain(sentence)
    }
  }
})
