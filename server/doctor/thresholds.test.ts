import { expect, test } from 'vitest'
import { connectionsFinding } from './connections.ts'
import {
  type Archiving,
  archivingFinding,
  checksumFinding,
  clockFindings,
  databaseClockFinding,
  journalModeFinding,
  leastOffset,
  postgresFinding,
  statementTimeoutFindings,
  syncFinding,
} from './database.ts'
import { freeDiskFinding, ownerFindings } from './files.ts'
import type { Finding } from './finding.ts'

const GiB = 1_024 ** 3
const archiving: Archiving = { mode: 'on', archivedAt: 2_000, failedAt: 1_000, failed: '0001' }

test.each<[string, Finding | Finding[], RegExp]>([
  [
    'an old PostgreSQL',
    postgresFinding({ text: '14.9', number: 140_009, isStandby: false }),
    /^failure: PostgreSQL 14\.9 is too old/,
  ],
  [
    'a standby',
    postgresFinding({ text: '18.1', number: 180_001, isStandby: true }),
    /^failure: DATABASE_URL leads to a standby/,
  ],
  [
    'enough connections',
    connectionsFinding('connections', { processes: 8, connections: 87 }, { allowed: 97, others: 10, isPooled: false }),
    /^ok: 8 processes open up to 87; PostgreSQL allows 97, and other programs use 10$/,
  ],
  [
    'one process',
    connectionsFinding('connections', { processes: 1, connections: 10 }, { allowed: 97, others: 1, isPooled: false }),
    /^ok: 1 process opens up to 10; PostgreSQL allows 97, and other programs use 1$/,
  ],
  [
    'too few connections',
    connectionsFinding('connections', { processes: 8, connections: 88 }, { allowed: 97, others: 10, isPooled: false }),
    /^warning: 8 processes open up to 88; PostgreSQL allows 97/,
  ],
  [
    'a pooler',
    connectionsFinding('connections', { processes: 9, connections: 98 }, { allowed: 50, others: 10, isPooled: true }),
    /^ok: 9 processes open up to 98 to a pooler, whose max_client_conn/,
  ],
  [
    'a file of root',
    ownerFindings(1_000, ['/data/a', '/data/b', '/data/c'], (path) => ({ '/data/a': 1_000, '/data/b': 0 })[path]),
    /^failure: DATA_DIR belongs to user 1000, and \/data\/b to 0$/,
  ],
  ['wrong checksums', checksumFinding(true, 2), /^failure: PostgreSQL found 2 pages/],
  ['no checksums', checksumFinding(false, 0), /^warning: pages have no checksums/],
  ['a file system without a log', journalModeFinding('delete'), /^failure: journal mode delete instead of WAL/],
  ['fsync off', syncFinding('off', 'on'), /^failure: fsync is off/],
  ['a timeout of PostgreSQL', statementTimeoutFindings('30s'), /^warning: statement_timeout is 30s/],
  [
    'no timeout of PostgreSQL',
    [syncFinding('on', 'on'), ...statementTimeoutFindings('0')],
    /^ok: fsync on, synchronous_commit on$/,
  ],
  ['commits that do not wait', syncFinding('on', 'off'), /^warning: synchronous_commit is off/],
  [
    'a log that is archived',
    archivingFinding(archiving),
    /^ok: PostgreSQL archives its log, the last at 1970-01-01T00:00:02/,
  ],
  [
    'a log that is not archived any more',
    archivingFinding({ ...archiving, failedAt: 3_000 }),
    /^failure: PostgreSQL cannot archive its log file 0001$/,
  ],
  [
    'a log that was never archived',
    archivingFinding({ ...archiving, archivedAt: null }),
    /^failure: PostgreSQL cannot archive its log file 0001$/,
  ],
  [
    'an instance a little behind',
    clockFindings([{ machine: 'm', offsetMs: -1_500 }])[1]!,
    /^warning: the clock of m is 1\.5 s behind/,
  ],
  ['the clock of PostgreSQL', databaseClockFinding(3_000), /^warning: 3\.0 s off/],
  [
    'a disk that is nearly full',
    freeDiskFinding('free disk', '/data', { free: GiB / 10, size: 1 }),
    /^failure: 102 MiB in \/data/,
  ],
  [
    'a disk without space for a copy',
    freeDiskFinding('free disk', '/data', { free: 3 * GiB, size: 4 * GiB }),
    /^warning: 3\.0 GiB in/,
  ],
  ['a disk with space', freeDiskFinding('free disk', '/data', { free: 9 * GiB, size: 4 * GiB }), /^ok: 9\.0 GiB in/],
])('%s is shown', (_what, found, expected) => {
  const lines = [found].flat().map(({ status, detail }) => `${status}: ${detail}`)
  expect(lines.at(-1)).toMatch(expected)
})

test.each([
  ['between two reads that are 3 s apart on a busy machine', 5_000, 0],
  ['as late as it was read', 7_000, 0],
  ['of a clock that is ahead', 9_000, 2_000],
  ['of a clock that is behind', 1_000, -3_000],
])('a report %s is as far off as it must be', (_what, reportedAt, offset) => {
  expect(leastOffset(reportedAt, { after: 4_000, before: 7_000 })).toBe(offset)
})
