import type { Migration } from './dialect.ts'

/** Mails and alerts are counted when they are attempted, so that every way to send one has the same limit. */
export const hourlyCounts: Migration = {
  name: 'hourly counts',
  statements: ({ INTEGER, CLUSTERED }) => [
    `create table hourly_counts (
      subject text primary key,
      since ${INTEGER} not null,
      count ${INTEGER} not null
    ) ${CLUSTERED}`,
    'create index hourly_counts_by_since on hourly_counts (since)',
  ],
}
