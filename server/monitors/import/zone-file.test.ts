import { expect, test } from 'vitest'
import { countEventLoopTurns } from '../../testing/event-loop-turns.ts'
import { type InputRow, joinRows } from './rows.ts'
import { readZone } from './zone-file.ts'

const read = (text: string, origin?: string) => joinRows(readZone(text, origin), 'zone')
/** What is made, as `name type values`. */
const made = async (text: string, origin?: string) =>
  (await read(text, origin))
    .filter(({ result }) => result === undefined)
    .map(({ name, type, values }) => [name, type, ...values])
const refused = async (rows: Promise<InputRow[]>) =>
  (await rows).flatMap(({ line, result, reason }) => (result === 'reject' ? [[line, reason]] : []))

test('a zone as BIND writes it: origin, TTL, omitted owners, @, parentheses, comments, classes', async () => {
  const zone = `; a zone
$ORIGIN example.com.
$TTL 1h30m
@	IN	SOA	ns1 hostmaster (
		2026112101 ; serial (with a parenthesis)
		3600 900 1209600
		300 )
	IN	NS	ns1
		NS	ns2.example.net.
	3600 IN MX 10 mail
	IN 3600 MX 20 mail2 ; the second
www	1d	A	192.0.2.1
	A	192.0.2.2
WWW.example.com. AAAA 2001:DB8::1
$ORIGIN sub
a	CNAME	@
b	CNAME	www.example.com.
c.d	A	192.0.2.3
*	A	192.0.2.4
`
  expect(await made(zone)).toEqual([
    ['example.com.', 'NS', 'ns1.example.com.', 'ns2.example.net.'],
    ['example.com.', 'MX', '10 mail.example.com.', '20 mail2.example.com.'],
    ['www.example.com.', 'A', '192.0.2.1', '192.0.2.2'],
    ['WWW.example.com.', 'AAAA', '2001:DB8::1'],
    ['a.sub.example.com.', 'CNAME', 'sub.example.com.'],
    ['b.sub.example.com.', 'CNAME', 'www.example.com.'],
    ['c.d.sub.example.com.', 'A', '192.0.2.3'],
    ['*.sub.example.com.', 'A', '192.0.2.4'],
  ])
  expect((await read(zone)).map(({ line, type }) => [line, type])[0]).toEqual([4, 'SOA'])
  expect((await read(zone)).map(({ line, type }) => [line, type])[3]).toEqual([12, 'A'])
})

test('texts keep their chunks, spaces, semicolons and escapes', async () => {
  const zone = String.raw`$ORIGIN example.com.
@ TXT "v=spf1 -all" ; a comment
  TXT "one  two" "three;four"
a TXT plain
b TXT "say \"hi\" \\ \065"
c TXT ( "first"
        "second" ) ; over lines
d TXT with\ space
e TXT ""
@ CAA 0 issue "ca.example; account=1"
@ CAA 0 iodef mailto:a@example.com
`
  expect(await made(zone)).toEqual([
    ['example.com.', 'TXT', '"v=spf1 -all"', '"one  two" "three;four"'],
    ['a.example.com.', 'TXT', '"plain"'],
    ['b.example.com.', 'TXT', String.raw`"say \"hi\" \\ \065"`],
    ['c.example.com.', 'TXT', '"first" "second"'],
    ['d.example.com.', 'TXT', String.raw`"with\ space"`],
    ['e.example.com.', 'TXT', '""'],
    ['example.com.', 'CAA', '0 issue "ca.example; account=1"', '0 iodef "mailto:a@example.com"'],
  ])
})

test('escapes in names become octets, and a dot behind a backslash ends no name', async () => {
  const zone = String.raw`$ORIGIN example.com.
a\.b A 192.0.2.1
c\ d A 192.0.2.2
e\046f A 192.0.2.3
g\. A 192.0.2.4
\*h A 192.0.2.5
`
  expect((await made(zone)).map(([name]) => name)).toEqual([
    String.raw`a\046b.example.com.`,
    String.raw`c\032d.example.com.`,
    String.raw`e\046f.example.com.`,
    String.raw`g\046.example.com.`,
    String.raw`\042h.example.com.`,
  ])
})

test('without $ORIGIN the name of the zone comes from its SOA record or from the caller, or is an error', async () => {
  expect(await made('example.com. IN SOA ns. a. 1 2 3 4 5\nwww A 192.0.2.1')).toEqual([
    ['www.example.com.', 'A', '192.0.2.1'],
  ])
  expect(await made('www A 192.0.2.1', 'example.org')).toEqual([['www.example.org.', 'A', '192.0.2.1']])
  expect(await made('$ORIGIN example.com.\nwww A 192.0.2.1', 'example.org')).toEqual([
    ['www.example.com.', 'A', '192.0.2.1'],
  ])
  await expect(read('www A 192.0.2.1')).rejects.toMatchObject({
    errors: { origin: { code: 'origin_required' } },
  })
  expect(await made('www.example.com. A 192.0.2.1')).toHaveLength(1)
  expect(await made('a CNAME b.', '.')).toEqual([['a.', 'CNAME', 'b.']])
})

test('skips types that cannot be monitored, and lists DNSSEC types once per file', async () => {
  const zone = `$ORIGIN example.com.
@ SOA ns1 a 1 2 3 4 5
@ DNSKEY 257 3 13 abc=
_sip._tcp URI 10 1 "sip:a@b.example"
a RRSIG A 13 3 300 2026 2026 1 example.com. abc=
b RRSIG A 13 3 300 2026 2026 1 example.com. abc=
c TYPE65534 \\# 1 00
version.bind. CH TXT "9"
d SPF "v=spf1 -all"
`
  expect((await read(zone)).map(({ type, result, line }) => [line, type, result])).toEqual([
    [2, 'SOA', 'skip'],
    [3, 'DNSKEY', 'skip'],
    [4, 'URI', 'skip'],
    [5, 'RRSIG', 'skip'],
    [7, 'TYPE65534', 'skip'],
    [8, 'TXT', 'skip'],
    [9, 'SPF', 'skip'],
  ])
})

test('refuses an invalid entry with its line and a remedy, and reads the others', async () => {
  const zone = `$ORIGIN example.com.
$INCLUDE other.zone
$GENERATE 1-9 host$ A 192.0.2.$
$FOO bar
a A
b MX mail
c NONSENSE 1
d TXT "not closed
e A 192.0.2.1
f A ) 192.0.2.1
g
h A 192.0.2.8
`
  expect(await refused(read(zone))).toEqual([
    [2, '$INCLUDE is not supported. Paste the lines of that file instead.'],
    [3, '$GENERATE is not supported. Paste the generated records instead.'],
    [4, 'Unknown directive $FOO. Supported are $ORIGIN and $TTL.'],
    [5, 'The record does not have the format of type A: address.'],
    [6, 'The record does not have the format of type MX: priority host.'],
    [7, 'Unknown record type NONSENSE.'],
    [8, 'A quotation mark is not closed on its line.'],
    [10, 'A closing parenthesis has no opening one.'],
    [11, 'The record type is missing.'],
  ])
  expect(await made(zone)).toEqual([
    ['e.example.com.', 'A', '192.0.2.1'],
    ['h.example.com.', 'A', '192.0.2.8'],
  ])
  expect(await refused(read('a.example. TXT ( "x"\nb.example. A 192.0.2.1'))).toEqual([
    [1, 'A parenthesis is not closed.'],
  ])
  expect(await refused(read(' A 192.0.2.1'))).toEqual([[1, 'The first record must have a name.']])
})

test('a set of which one record cannot be read is no expectation', async () => {
  expect(await refused(read('a.example. A 192.0.2.1\na.example. A 1 2\nb.example. A 192.0.2.2'))).toEqual([
    [1, 'Line 2 has the same name and type, and is invalid.'],
    [2, 'The record does not have the format of type A: address.'],
  ])
})

test('line ends of Windows, a byte order mark and spaces of all kinds do no harm', async () => {
  const zone = '\ufeff$ORIGIN example.com.\r\n\r\nwww\u00a0300 A\t192.0.2.1 \r\n  \r\n A 192.0.2.2\r\n'
  expect(await made(zone)).toEqual([['www.example.com.', 'A', '192.0.2.1', '192.0.2.2']])
})

test('shortens an entry that is too long, and reads the others', async () => {
  const long = '"x" '.repeat(10_000)
  const zone = `t TXT ${long}\na A 192.0.2.1 ; ${long}\nk DNSKEY ( ${'AwEAAa '.repeat(4_000)} )\nb A 192.0.2.2
m TXT ( ${'\n "x" "x" "x" "x"'.repeat(2_000)} )\nc A 192.0.2.3\n`
  const rows = await read(zone, 'example.com')
  expect(rows.map(({ name, result, reason }) => [name, result, reason])).toEqual([
    ['t.example.com.', 'reject', 'The record is longer than 16384 characters.'],
    ['a.example.com.', undefined, undefined],
    ['k.example.com.', 'skip', 'Zonewatch cannot monitor DNSKEY records.'],
    ['b.example.com.', undefined, undefined],
    ['m.example.com.', 'reject', 'The record is longer than 16384 characters.'],
    ['c.example.com.', undefined, undefined],
  ])
})

test('parsing a large file yields to the event loop', async () => {
  const parts = [
    '(',
    '"',
    '\\',
    ';',
    '\n',
    ' ',
    'a',
    '( "\\',
    '$',
    '@ A (\n',
    '\\"',
    'x '.repeat(9),
    '1',
    'a\n',
    'a 1 A 1\n',
  ]
  for (const part of parts) {
    const text = part.repeat(Math.floor(65_536 / part.length))
    const turns = await countEventLoopTurns(read(text, 'example.com').catch((problem) => problem.errors.zone))
    expect([part, turns > 25 || part === 'a\n']).toEqual([part, true])
  }
})

test('names that are too long are cut, so that the work for a line does not grow with the lines before it', async () => {
  const long = 'a'.repeat(16_000)
  const origins = `$ORIGIN ${long}\n`.repeat(3)
  const rows = await read(
    `${origins}${long} A 192.0.2.1\n A 192.0.2.2\nb CNAME c\n${long}. SOA ns h 1 2 3 4 5\n`,
    'example.com',
  )
  const lengths = rows.flatMap(({ name, values }) => [name, ...values]).map(({ length }) => length)
  // Longer than every valid name, so that each row is refused.
  expect([Math.min(...lengths.filter((length) => length > 9)), Math.max(...lengths)]).toEqual([2_000, 2_000])
})
