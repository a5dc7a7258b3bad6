import { expect, test } from 'vitest'
import {
  onChecksums,
  onClocks,
  onDatabaseClock,
  onJournalMode,
  onPostgres,
  onStatementTimeout,
  onSync,
} from './database.ts'
import type { Finding } from './finding.ts'
import { onFreeDisk } from './places.ts'

const GiB = 1_024 ** 3

test.each<[string, Finding | Finding[], RegExp]>([
  ['an old PostgreSQL', onPostgres({ text: '14.9', number: 140_009 }), /^failure: PostgreSQL 14\.9 is too old/],
  ['wrong checksums', onChecksums(true, 2), /^failure: PostgreSQL found 2 pages/],
  ['no checksums', onChecksums(false, 0), /^warning: pages have no checksums/],
  ['a file system without a log', onJournalMode('delete'), /^failure: journal mode delete instead of WAL/],
  ['fsync off', onSync('off', 'on'), /^failure: fsync is off/],
  ['a timeout of PostgreSQL', onStatementTimeout('30s'), /^warning: statement_timeout is 30s/],
  [
    'no timeout of PostgreSQL',
    [onSync('on', 'on'), ...onStatementTimeout('0')],
    /^ok: fsync on, synchronous_commit on$/,
  ],
  ['commits that do not wait', onSync('on', 'off'), /^warning: synchronous_commit is off/],
  [
    'an instance a little behind',
    onClocks([{ machine: 'm', offMs: -1_500 }])[1]!,
    /^warning: the clock of m is 1\.5 s behind/,
  ],
  ['the clock of PostgreSQL', onDatabaseClock(3_000), /^warning: 3\.0 s off/],
  [
    'a disk that is nearly full',
    onFreeDisk('free disk', '/data', { free: GiB / 10, size: 1 }),
    /^failure: 102 MiB in \/data/,
  ],
  [
    'a disk without space for a copy',
    onFreeDisk('free disk', '/data', { free: 3 * GiB, size: 4 * GiB }),
    /^warning: 3\.0 GiB in/,
  ],
  ['a disk with space', onFreeDisk('free disk', '/data', { free: 9 * GiB, size: 4 * GiB }), /^ok: 9\.0 GiB in/],
])('%s is shown', (_what, found, expected) => {
  const lines = [found].flat().map(({ status, detail }) => `${status}: ${detail}`)
  expect(lines.at(-1)).toMatch(expected)
})
