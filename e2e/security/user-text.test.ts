import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { USER_TEXTS, userTextTable } from './user-text.ts'

const counted = USER_TEXTS.flatMap(({ text, steps }) => (steps ? [{ text, steps }] : []))

test.each(counted)('$text takes a bounded number of steps', async ({ steps }) => {
  const [taken, most] = await steps()
  expect(taken).toBeGreaterThan(0)
  expect(taken).toBeLessThanOrEqual(most)
})

test('every text has a test that counts its steps or proves that they are linear', () => {
  const untested = USER_TEXTS.filter(({ test, steps }) => (test === undefined ? !steps : !existsSync(test)))
  expect(untested).toEqual([])
})

test('docs/explanation/security.md has the list as a table', () => {
  expect(readFileSync('docs/explanation/security.md', 'utf8')).toContain(userTextTable())
})
