import { expect, test } from 'vitest'
import { RECORD_TYPES } from '#contract/record-types.ts'
import type { Problem } from '../../problem.ts'
import { countEventLoopTurns } from '../../testing/event-loop-turns.ts'
import { readCsv } from './csv.ts'
import { joinRows } from './rows.ts'

const read = (text: string, origin?: string) => joinRows(readCsv(text, origin), 'csv')
const made = async (text: string, origin?: string) =>
  (await read(text, origin)).map(({ name, type, values, result }) => [
    name,
    type,
    ...values,
    ...(result ? [result] : []),
  ])

test('columns are known by their usual names, in any order and with any separator', async () => {
  for (const text of [
    'name,type,value\nwww.example.com,A,192.0.2.1\n',
    'Type;Record Name;Content;TTL\r\nA;www.example.com;192.0.2.1;300\r\n',
    '\ufeffFQDN\trecord_type\tExpected Value\nwww.example.com\ta\t192.0.2.1',
    'domain,subdomain,type,value\nexample.com,www,A,192.0.2.1',
    '"name","type","value"\n\n"www.example.com","A","192.0.2.1"\n,,\n',
  ]) {
    expect(await made(text)).toEqual([['www.example.com', 'A', '192.0.2.1']])
  }
  expect(await made('name,type,value\n@,A,192.0.2.1\nwww,A,192.0.2.2\nexample.com,AAAA,::1', 'example.com.')).toEqual([
    ['example.com', 'A', '192.0.2.1'],
    ['www.example.com', 'A', '192.0.2.2'],
    ['example.com', 'AAAA', '::1'],
  ])
})

test('records of one name, type and settings are one row; a cell may hold a value a line, and MX its priority elsewhere', async () => {
  const text = `name,type,value,priority,group
a.example,A,192.0.2.1,,
a.example,A,"192.0.2.2
192.0.2.3",,
A.example.,A,192.0.2.4,,
a.example,A,192.0.2.5,,shop
b.example,MX,mx1.example,10,
b.example,MX,20 mx2.example,99,
`
  expect((await read(text)).map(({ line, values, group }) => [line, values, group])).toEqual([
    [2, ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'], undefined],
    [6, ['192.0.2.5'], 'shop'],
    [7, ['10 mx1.example', '20 mx2.example'], undefined],
  ])
})

test('the priority of further types may have a column of its own, too, and SOA with its serial is passed over', async () => {
  const text = `name,type,value,priority,exact
_sip._tcp.example,SRV,5 5060 sip.example,10,
_sip._tcp.example,SRV,20 5 5060 sip2.example,10,
a.example,HTTPS,. alpn=h2,1,
a.example,HTTPS,2 b.example,1,
example,SOA,ns.example a.example 1 2 3 4 5,,
example,SOA,ns.example a.example * 2 3 4 5,,no
`
  expect((await read(text)).map(({ type, values, result }) => [type, values, result])).toEqual([
    ['SRV', ['10 5 5060 sip.example', '20 5 5060 sip2.example'], undefined],
    ['HTTPS', ['1 . alpn=h2', '2 b.example'], undefined],
    ['SOA', ['ns.example a.example 1 2 3 4 5'], 'skip'],
    ['SOA', ['ns.example a.example * 2 3 4 5'], undefined],
  ])
})

test('the settings of a row are read', async () => {
  const text = 'name,type,value,exact,notify,frequency\na.example,TXT,hi,No,On_Success,30\nb.example,TXT,hi,,,\n'
  expect(await read(text)).toEqual([
    { line: 2, name: 'a.example', type: 'TXT', values: ['hi'], isExact: false, notify: 'on_success', frequency: 30 },
    { line: 3, name: 'b.example', type: 'TXT', values: ['hi'], isExact: true },
  ])
})

test('the error of a row names what is wrong and what is allowed', async () => {
  const text = `name,type,value,exact,notify,frequency
a.example,,1,,,
a.example,FOO,1,,,
a.example,DNSKEY,1,,,
a.example,A,1,perhaps,,
a.example,A,1,,sometimes,
a.example,A,1,,,2.5
`
  expect((await read(text)).map(({ line, result, reason }) => [line, result, reason])).toEqual([
    [2, 'reject', 'The type is empty.'],
    [3, 'reject', `The type "FOO" is unknown. Use one of ${RECORD_TYPES.join(', ')}.`],
    [4, 'skip', 'Zonewatch cannot monitor DNSKEY records.'],
    [5, 'reject', 'exact must be yes or no, not "perhaps".'],
    [6, 'reject', 'notify must be one of immediately, on_success, after_success, not "sometimes".'],
    [7, 'reject', 'frequency must be from 5 to 120 minutes, not "2.5".'],
  ])
  const [row] = await read('name,type,value\na.example,TXT,"say "hi""\n')
  expect([row?.result, row?.line]).toEqual(['reject', 2])
})

test('without column names nothing is guessed', async () => {
  for (const [text, sentence] of [
    ['', 'is empty. Its first line must name the columns: name, type, value.'],
    ['www.example.com,A,192.0.2.1', 'must begin with a line of column names. Missing: name, type, value.'],
    ['name,value\n', 'must begin with a line of column names. Missing: type.'],
  ] as const) {
    try {
      await read(text)
      expect(text).toBe('refused')
    } catch (error) {
      expect((error as Problem).errors?.csv?.text).toContain(sentence)
    }
  }
})

test('a cell holds any character inside quotes, and one that cannot be read takes only its row with it', async () => {
  const cells = async (text: string) => await made(`name,type,value\n${text}`)
  expect(await cells('a.example,TXT,"a, ""b""; c"\r\nb.example,TXT,\'x"y\rb.example')).toEqual([
    ['a.example', 'TXT', 'a, "b"; c'],
    ['b.example', 'TXT', '\'x"y\rb.example'],
  ])
  expect((await read('name,type,value\rb.example,A,192.0.2.1\r')).map(({ line }) => line)).toEqual([2])
  for (const wrong of ['"x"y', '"', '"""', 'x,"\n']) {
    const rows = await read(`name,type,value\na.example,A,192.0.2.1\nb.example,TXT,${wrong}`)
    expect([wrong, ...rows.map(({ result }) => result)]).toEqual([wrong, undefined, 'reject'])
  }
})

test('a cell of many lines is one row that is refused', async () => {
  const rows = await read(`name,type,value\na.example,A,"${'192.0.2.1\n'.repeat(125_000)}"\nb.example,A,192.0.2.1`)
  expect(rows.map(({ line, result, reason }) => [line, result, reason])).toEqual([
    [2, 'reject', 'A cell has 1250002 characters. At most 65536 are allowed.'],
    [125_003, undefined, undefined],
  ])
})

test('parsing a large file yields to the event loop', async () => {
  for (const part of ['"', 'a,', '\n', '""', '",', 'a\n', '"\n', '"a" b,', '|', '\r', '"a\nb",A,1\n', ' ']) {
    for (const head of ['name,type,value\n', 'name,type,value\na,A,"']) {
      const text = head + part.repeat(Math.floor(65_536 / part.length))
      const turns = await countEventLoopTurns(read(text).catch((problem) => problem.errors.csv))
      expect([head, part, turns > 25 || part === 'a\n']).toEqual([head, part, true])
    }
  }
})
