import { expect, test } from 'vitest'
import { table } from './table.ts'

const ROWS = [
  ['PORT', '8080', 'the port to listen on'],
  ['DENIED_PORTS', '0,1,7,9,11,13,15,17,19,20,21,22,23', 'ports that must not be used, comma-separated'],
  ['CA_FILE', '/etc/zonewatch/authorities.pem', 'a file'],
]

test('hidden characters of a cell are shown, so that it stays in its column and line', () => {
  expect(table(['NAME', 'ROLE'], [['a\u202e\u001b[2J\nb', 'read']])).toBe(
    'NAME                           ROLE\na<U+202E><U+001B>[2J<U+000A>b  read',
  )
})

test('columns are as wide as their longest cell', () => {
  expect(
    table(
      ['NAME', 'VALUE'],
      [
        ['a', '1'],
        ['long name', '2'],
      ],
    ),
  ).toBe('NAME       VALUE\na          1\nlong name  2')
})

test('wrapped columns break at spaces and commas until every line fits', () => {
  const text = table(['NAME', 'VALUE', 'ABOUT'], ROWS, { lineWidth: 50, wrapped: ['VALUE', 'ABOUT'] })
  expect(text.split('\n')).toEqual([
    'NAME          VALUE              ABOUT',
    'PORT          8080               the port to',
    '                                 listen on',
    'DENIED_PORTS  0,1,7,9,11,13,15,  ports that must',
    '              17,19,20,21,22,23  not be used,',
    '                                 comma-separated',
    'CA_FILE       /etc/zonewatch/au  a file',
    '              thorities.pem',
  ])
})
