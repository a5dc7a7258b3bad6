import { expect, test } from 'vitest'
import { findUnfinished } from './house-words.ts'

test.each([`// TO${'DO'} later`, `// FIX${'ME'}: wrong`, `test${'.skip'}('a')`, `describe${'.only'}.each([1])('a')`])(
  '%s is found',
  (line) => {
    expect(findUnfinished({ path: 'a.ts', text: `const a = 1\n${line}` })).toEqual([
      expect.stringContaining(`a.ts:2 ${line}`),
    ])
  },
)

test('ordinary code is left in peace', () => {
  const text = "const todo = list.skip(1)\ntest('skips what is done', () => only(todo))"

  expect(findUnfinished({ path: 'a.ts', text })).toEqual([])
})
