import { expect, test } from 'vitest'
import { longestChain, tooManyLevels } from './import-levels.ts'

const FILES = [
  { path: 'server/a.ts', text: "import { b } from './b.ts'\nimport type { D } from './d.ts'" },
  { path: 'server/b.ts', text: "import {\n  c,\n  type C,\n} from './c.ts'" },
  { path: 'server/c.ts', text: "import { type D } from './d.ts'\nconst d = await import('./d.ts')" },
  { path: 'server/d.ts', text: '' },
]

test('the longest import chain is found, without type imports and dynamic imports', () => {
  expect(longestChain(FILES)).toEqual(['server/a.ts', 'server/b.ts', 'server/c.ts'])
})

test('too many levels are refused with the chain of files', () => {
  expect(tooManyLevels(FILES, 3)).toEqual([])
  expect(tooManyLevels(FILES, 2)).toEqual([
    '3 files import one another in a row, and 2 may: server/a.ts → server/b.ts → server/c.ts. Move what is shared down, or join files that are one concept.',
  ])
})

test('tests do not count', () => {
  const outside = [{ path: 'server/checks/x.test.ts', text: "import { a } from '../a.ts'" }]

  expect(tooManyLevels([...FILES, ...outside], 3)).toEqual([])
})

test('a circular import is refused', () => {
  const circle = [
    { path: 'server/a.ts', text: "import { b } from './b.ts'" },
    { path: 'server/b.ts', text: "export { a } from './a.ts'" },
  ]

  expect(tooManyLevels(circle)).toEqual([
    'These files import each other in a circle: server/a.ts → server/b.ts → server/a.ts.',
  ])
})
