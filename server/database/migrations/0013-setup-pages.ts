import type { Migration } from '../migrate.ts'

/** Monitors that wait for their expected records, and the public pages that show customers what to create. */
export const setupPages: Migration = {
  name: 'setup pages',
  statements: ({ ENGINE, INTEGER, BLOB, CLUSTERED }) => [
    `alter table events add column timed_out ${INTEGER} not null default 0`,

    // token_hash: SHA-256, hex. token: sealed, so that the link can be copied again. Found by the hash before the organization.
    `create table setup_pages (
      organization_id text not null references organizations (id) on delete cascade,
      id text not null,
      created_at ${INTEGER} not null,
      key text,
      token_hash text not null,
      token ${BLOB} not null,
      expires_at ${INTEGER} not null,
      version ${INTEGER} not null default 1,
      primary key (organization_id, id),
      unique (organization_id, key)
    ) ${CLUSTERED}`,
    'create index setup_pages_by_token on setup_pages (token_hash)',

    // seen: JSON, what the zone's name servers answered last.
    `create table waits (
      organization_id text not null,
      monitor_id text not null,
      page_id text,
      started_at ${INTEGER} not null,
      deadline_at ${INTEGER} not null,
      ended_at ${INTEGER},
      result text check (result in ('valid', 'timed_out', 'stopped')),
      looks ${INTEGER} not null default 0,
      seen text,
      seen_at ${INTEGER},
      primary key (organization_id, monitor_id),
      ${
        ENGINE === 'sqlite'
          ? 'foreign key (monitor_id) references monitors (id) on delete cascade'
          : 'foreign key (monitor_id, organization_id) references monitors (id, organization_id) on delete cascade'
      }
    ) ${CLUSTERED}`,
    // SQLite finds the rows of a deleted monitor by it, PostgreSQL those of a page.
    'create index waits_by_monitor on waits (monitor_id)',
    'create index waits_by_page on waits (organization_id, page_id)',
    'create index open_waits on waits (organization_id) where ended_at is null',

    `create table due_waits (
      organization_id text not null,
      monitor_id text not null,
      due_at ${INTEGER},
      claimed_by ${INTEGER},
      was_due_at ${INTEGER},
      primary key (organization_id, monitor_id),
      foreign key (organization_id, monitor_id) references waits (organization_id, monitor_id) on delete cascade
    ) ${CLUSTERED}`,
    'create index due_waits_by_due on due_waits (due_at)',
  ],
}
