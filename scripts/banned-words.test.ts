import { expect, test } from 'vitest'
import { findBanned, findBannedInCode, findBannedInDocuments, findUnfinished } from './banned-words.ts'

test.each([`// TO${'DO'} later`, `// FIX${'ME'}: wrong`, `test${'.skip'}('a')`, `describe${'.only'}.each([1])('a')`])(
  '%s is found',
  (line) => {
    expect(findUnfinished({ path: 'a.ts', text: `const a = 1\n${line}` })).toEqual([
      expect.stringContaining(`a.ts:2 ${line}`),
    ])
  },
)

test('ordinary code is accepted', () => {
  const text = "const todo = list.skip(1)\ntest('skips what is done', () => only(todo))"

  expect(findUnfinished({ path: 'a.ts', text })).toEqual([])
})

test('a banned word is found in code and text, and a longer word that contains it is accepted', () => {
  const text = `the ${'be'}ll rings\nan invoice\nretried by ${'ha'}nd\nlabelled`

  expect(findBanned({ path: 'a.md', text }).map((line) => line.split(' ')[0])).toEqual(['a.md:1', 'a.md:3'])
})

test('documents use no banned words', () => {
  const text = 'An alias loop.\nA CNAME loop.\nThe owner is told.\nWhoever reads it begins anew.'
  const found = findBannedInDocuments({ path: 'a.md', text })
  expect(found.map((line) => line.split(' ')[0])).toEqual(['a.md:1', 'a.md:3', 'a.md:4', 'a.md:4'])
})

test('banned words are found in messages, labels and test titles, but not in comments', () => {
  const text = [
    '// the owner is told',
    "const url = 'https://example.com' // the owner is told",
    'const title = "Nobody is told"',
    'const page = <p>Nobody is told yet</p>',
    '/* the owner',
    ' is told */ const sentence = `// told`',
    'const walker = labelsOf(monitor)',
  ].join('\n')
  expect(findBannedInCode({ path: 'a.tsx', text }).map((line) => line.split(' ')[0])).toEqual([
    'a.tsx:3',
    'a.tsx:3',
    'a.tsx:4',
    'a.tsx:4',
    'a.tsx:6',
  ])
})
