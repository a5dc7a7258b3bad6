import { expect, test } from 'vitest'
import { oneLine, truncate } from './text.ts'

test.each([
  ['abcde', 5, 'abcde'],
  ['abcdef', 5, 'abcd…'],
  ['abc😀f', 5, 'abc…'], // between the halves of the emoji
  ['ab😀ef', 5, 'ab😀…'],
])('%s cut to %i code units is %s', (text, maxLength, expected) => {
  expect(truncate(text, maxLength)).toBe(expected)
})

test('a line has no line breaks, and marks that change the direction of text are shown', () => {
  expect(oneLine('a\r\nb\u2028c\u202ed')).toBe('a b c<U+202E>d')
})
