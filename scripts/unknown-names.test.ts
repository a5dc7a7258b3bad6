import { expect, test } from 'vitest'
import { findUnknownNames } from './unknown-names.ts'

const source = (text: string) => ({ path: 'server/a.ts', text })
const OTHERS = [
  { path: 'server/checks/run-check.ts', text: '' },
  { path: 'deploy/rules.yml', text: 'alert: MachineDown' },
]

test('names of files and identifiers in documents must exist', () => {
  const text =
    'A check (`checks/run-check.ts`) calls `runCheck` with `MAX_ROWS`.\nSee `checks/loop.ts`, `runLoop`, `MachineDown` and `word`.'
  const found = findUnknownNames([{ path: 'README.md', text }], [source('const MAX_ROWS = runCheck()')], OTHERS)
  expect(found).toEqual(['README.md:2 checks/loop.ts does not exist', 'README.md:2 runLoop does not exist'])
})

test('names in comments must exist outside of comments', () => {
  const text = 'f()\n/**\n * Like `runLoop`, in docs/checks.md.\n */\n// `fastCheck`\nconst fastCheck = 1'
  expect(findUnknownNames([], [source(text)], OTHERS)).toEqual([
    'server/a.ts:3 runLoop does not exist',
    'server/a.ts:3 docs/checks.md does not exist',
  ])
})

test('a setting can be read from a file', () => {
  const documents = [{ path: 'README.md', text: '`SMTP_URL_FILE` and `NO_URL_FILE`' }]
  expect(findUnknownNames(documents, [source("read('SMTP_URL')")], OTHERS)).toEqual([
    'README.md:1 NO_URL_FILE does not exist',
  ])
})
