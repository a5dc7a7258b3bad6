import { expect, test } from 'vitest'
import { visible, visibleJson, visibleLines } from './visible-text.ts'

test.each([
  ['C0', 'a\u0000b\u0007c\u001b[31m\n\t\u007f', 'a<U+0000>b<U+0007>c<U+001B>[31m<U+000A><U+0009><U+007F>'],
  ['C1', '\u0085\u009b31m', '<U+0085><U+009B>31m'],
  ['bidirectional', '\u202a\u202b\u202c\u202d\u202e', '<U+202A><U+202B><U+202C><U+202D><U+202E>'],
  ['isolates', '\u2066\u2067\u2068\u2069', '<U+2066><U+2067><U+2068><U+2069>'],
  ['marks', '\u200e\u200f\u061c', '<U+200E><U+200F><U+061C>'],
  ['zero width', 'a\u200bb\u200cc\u200dd\u2060e\ufeff', 'a<U+200B>b<U+200C>c<U+200D>d<U+2060>e<U+FEFF>'],
  ['spaces that look like others', 'a\u00a0b\u2009c\u202fd', 'a<U+00A0>b<U+2009>c<U+202F>d'],
  ['separators', '\u2028\u2029', '<U+2028><U+2029>'],
  ['without a shape', '\u00ad\u3164\u115f\u034f', '<U+00AD><U+3164><U+115F><U+034F>'],
  ['tags beyond 16 bits', 'a\u{e0041}', 'a<U+E0041>'],
  ['half a surrogate pair', 'a\ud83d', 'a<U+D83D>'],
  ['a variation selector after a letter', 'a\ufe0f', 'a<U+FE0F>'],
])('hidden characters are shown: %s', (_what, text, shown) => {
  expect(visible(text)).toBe(shown)
  expect(visible(shown)).toBe(shown)
})

test.each([
  'Zoë & Łukasz',
  'пример',
  '例え',
  '👩\u200d💻',
  '👍🏽',
  '❤\ufe0f',
  'می\u200cخواهم',
  'क्\u200dष',
  'v=spf1 -all',
])('other text stays as it is: %s', (text) => expect(visible(text)).toBe(text))

test('a text of several lines keeps them', () => {
  expect(visibleLines('a\u202e\r\n\tb\u0007')).toBe('a<U+202E>\r\n\tb<U+0007>')
})

test('JSON keeps the value, and shows no hidden character', () => {
  const value = { name: 'a\u202e\u009b\u{e0041}\nb' }
  expect(visibleJson(value)).toBe('{"name":"a\\u202e\\u009b\\udb40\\udc41\\nb"}')
  expect(JSON.parse(visibleJson(value))).toEqual(value)
})
