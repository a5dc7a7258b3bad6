import type { Dialect } from '../migrate.ts'

/** Groups, monitors, when they are due, and events. */
export const monitorTables = ({ ENGINE, INTEGER, STRICT, CLUSTERED }: Dialect): string[] => {
  // Names in the order of their octets on both engines, so that an index finds those that begin with a text.
  const NAME = ENGINE === 'sqlite' ? 'text' : 'text collate "C"'
  return [
    `create table groups (
      id text primary key,
      organization_id text not null references organizations (id) on delete cascade,
      created_at ${INTEGER} not null,
      name text not null,
      slug text not null,
      is_default ${INTEGER} not null,
      monitors ${INTEGER} not null default 0,
      version ${INTEGER} not null default 1,
      unique (organization_id, slug)
    ) ${CLUSTERED}`,
    'create index groups_by_created on groups (organization_id, id)',
    'create unique index groups_default on groups (organization_id) where is_default = 1',
    'create index groups_by_name on groups (organization_id, name, id)',

    // rotation: what a name that gives part of its RRset each time has given so far (checks/rotation.ts).
    `create table monitors (
      id text primary key,
      organization_id text not null references organizations (id) on delete cascade,
      group_id text not null references groups (id),
      created_at ${INTEGER} not null,
      domain ${NAME} not null,
      subdomain text not null,
      owner ${NAME} not null,
      record_type text not null,
      expected_values text not null,
      is_exact_match ${INTEGER} not null,
      is_active ${INTEGER} not null,
      notify text not null,
      frequency ${INTEGER} not null,
      state text not null,
      current_values text,
      incidence_count ${INTEGER} not null default 0,
      diagnosis text,
      rotation text,
      slot ${INTEGER} not null,
      version ${INTEGER} not null default 1
    ) ${CLUSTERED}`,
    // One for each filter and for each order of the list; which of them a list uses: monitors/list.ts.
    'create index monitors_by_created on monitors (organization_id, id)',
    'create index monitors_by_group on monitors (group_id, id)',
    'create index monitors_by_owner on monitors (organization_id, owner, id)',
    'create index monitors_by_domain on monitors (organization_id, domain, id)',
    'create index monitors_by_subdomain on monitors (organization_id, subdomain, id)',
    'create index monitors_by_record_type on monitors (organization_id, record_type, id)',
    'create index monitors_by_state on monitors (organization_id, state, id)',
    'create index monitors_by_is_active on monitors (organization_id, is_active, id)',
    'create index monitors_by_incidence_count on monitors (organization_id, incidence_count, id)',
    // The shortest interval in use is read without reading the monitors.
    'create index monitors_by_frequency on monitors (organization_id, frequency)',
    // A valid monitor is in none of these, so they cost neither creating monitors nor most checks anything.
    `create index monitors_failing on monitors (organization_id, state, domain, id)
      where is_active = 1 and state <> 'VALID' and state <> 'UNSET'`,
    'create index monitors_disabled on monitors (organization_id, state) where is_active = 0',
    // PostgreSQL combines two indexes for this.
    ...(ENGINE === 'sqlite'
      ? [
          `create index monitors_failing_in_group on monitors (group_id, state, id)
            where state <> 'VALID' and state <> 'UNSET'`,
        ]
      : []),

    // slot: the monitor's place in its interval, 31 bits, then 21 that tell apart the monitors of one place.
    `create table due_checks (
      slot ${INTEGER} primary key,
      monitor_id text not null,
      organization_id text not null,
      due_at ${INTEGER},
      claimed_by ${INTEGER},
      owner text not null,
      record_type text not null,
      is_exact_match ${INTEGER} not null,
      frequency ${INTEGER} not null,
      fingerprint ${INTEGER},
      streak ${INTEGER} not null default 0,
      doubts ${INTEGER} not null default 0,
      postponed_since ${INTEGER},
      last_checked_at ${INTEGER}
    ) ${STRICT}`,
    'create index due_checks_by_due on due_checks (due_at)',
    // The one index that every check moves: with a million rows on SQLite it takes a check from 47 to 64 µs of the database.
    'create index due_checks_by_last_checked on due_checks (organization_id, last_checked_at, monitor_id)',
    'create index due_checks_postponed on due_checks (organization_id, postponed_since) where postponed_since is not null',

    `create table events (
      id text primary key,
      organization_id text not null references organizations (id) on delete cascade,
      monitor_id text not null references monitors (id) on delete cascade,
      group_id text not null,
      occurred_at ${INTEGER} not null,
      old_state text not null,
      new_state text not null,
      previous_values text,
      current_values text,
      incidence_count ${INTEGER} not null,
      domain text not null,
      subdomain text not null,
      record_type text not null,
      expected_values text not null,
      is_exact_match ${INTEGER} not null,
      diagnosis text,
      truncated ${INTEGER} not null default 0
    ) ${STRICT}`,
    'create index events_by_organization on events (organization_id, occurred_at, id)',
    'create index events_by_monitor on events (monitor_id, occurred_at, id)',
    'create index events_by_group on events (group_id, occurred_at, id)',
    'create index events_by_old_state on events (organization_id, old_state, occurred_at, id)',
    'create index events_by_new_state on events (organization_id, new_state, occurred_at, id)',
    'create index events_by_id on events (organization_id, id)',
    // Without first results, with which an import of thousands fills the events.
    `create index changes_by_organization on events (organization_id, occurred_at, id) where old_state <> 'UNSET'`,
    `create index changes_by_group on events (group_id, occurred_at, id) where old_state <> 'UNSET'`,
    `create index changes_by_new_state on events (organization_id, new_state, occurred_at, id) where old_state <> 'UNSET'`,

    // Ids of events ascend in the order in which the events are committed, so that a reader can go on after the last one it saw.
    `create table last_event_times (
      organization_id text primary key references organizations (id) on delete cascade,
      last_at ${INTEGER} not null
    ) ${CLUSTERED}`,
  ]
}
