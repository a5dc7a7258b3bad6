import type { Dialect } from './dialect.ts'

/** Groups, monitors, when they are due, events, planned changes, setup pages and saved views. */
export const monitorTables = (dialect: Dialect): string[] => {
  const { ENGINE, INTEGER, BLOB, STRICT, CLUSTERED, SORTED_TEXT, tenantKey, tenantReference } = dialect
  return [
    `create table groups (
    id text not null,
    organization_id text not null references organizations (id) on delete cascade,
    created_at ${INTEGER} not null,
    name text not null,
    slug text not null,
    is_default ${INTEGER} not null,
    monitors ${INTEGER} not null default 0,
    version ${INTEGER} not null default 1,
    external_id text,
    tags text not null default '[]',
    metadata text not null default '{}',
    ${tenantKey('id')},
    unique (organization_id, slug)
  ) ${CLUSTERED}`,
    'create index groups_by_created on groups (organization_id, id)',
    'create unique index groups_default on groups (organization_id) where is_default = 1',
    'create index groups_by_name on groups (organization_id, name, id)',
    'create unique index groups_by_external_id on groups (organization_id, external_id) where external_id is not null',

    // name_order: sorts monitors by name; triggers write it (0001-monitor-search.ts).
    `create table monitors (
    id text not null,
    organization_id text not null references organizations (id) on delete cascade,
    group_id text not null,
    created_at ${INTEGER} not null,
    domain ${SORTED_TEXT} not null,
    subdomain text not null,
    owner ${SORTED_TEXT} not null,
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
    version ${INTEGER} not null default 1,
    external_id text,
    tags text not null default '[]',
    metadata text not null default '{}',
    name_order ${SORTED_TEXT},
    ${tenantKey('id')},
    ${tenantReference('group_id', 'groups')}
  ) ${CLUSTERED}`,
    // One for each filter and for each order of the list; which of them a list uses: monitors/list/list.ts.
    'create index monitors_by_created on monitors (organization_id, id)',
    'create index monitors_by_group on monitors (group_id, id)',
    'create index monitors_by_owner on monitors (organization_id, owner, id)',
    'create index monitors_by_domain on monitors (organization_id, domain, id)',
    'create index monitors_by_subdomain on monitors (organization_id, subdomain, id)',
    'create index monitors_by_record_type on monitors (organization_id, record_type, id)',
    'create index monitors_by_state on monitors (organization_id, state, id)',
    'create index monitors_by_is_active on monitors (organization_id, is_active, id)',
    'create index monitors_by_incidence_count on monitors (organization_id, incidence_count, id)',
    'create index monitors_by_name on monitors (organization_id, name_order, id)',
    'create unique index monitors_by_external_id on monitors (organization_id, external_id) where external_id is not null',
    // The shortest interval in use is read without reading the monitors.
    'create index monitors_by_frequency on monitors (organization_id, frequency)',
    // A valid monitor is in none of these, so creating monitors and most checks do not write them.
    // With is_active, because SQLite reads the row of each monitor for a column that the index lacks, also one of its own condition.
    `create index monitors_failing_counted on monitors (organization_id, state, domain, id, is_active)
    where is_active = 1 and state <> 'VALID' and state <> 'UNSET'`,
    `create index monitors_not_valid_in_group on monitors (group_id, is_active, state, organization_id)
    where (is_active = 0 or state <> 'VALID')`,
    'create index monitors_disabled on monitors (organization_id, state) where is_active = 0',
    // PostgreSQL combines two indexes for this.
    ...(ENGINE === 'sqlite'
      ? [
          `create index monitors_failing_in_group on monitors (group_id, state, id)
          where state <> 'VALID' and state <> 'UNSET'`,
        ]
      : []),

    ...labelTable(dialect, 'monitor'),
    ...labelTable(dialect, 'group'),

    // slot: the monitor's slot in its interval, 31 bits, then 21 bits that distinguish the monitors of one slot.
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
    inconclusive_count ${INTEGER} not null default 0,
    postponed_since ${INTEGER},
    last_checked_at ${INTEGER},
    was_due_at ${INTEGER},
    planned_change_id text
  ) ${STRICT}`,
    'create index due_checks_by_due on due_checks (due_at)',
    // The one index that every check moves: with a million rows on SQLite it takes a check from 47 to 64 µs of the database.
    'create index due_checks_by_last_checked on due_checks (organization_id, last_checked_at, monitor_id)',
    'create index due_checks_postponed on due_checks (organization_id, postponed_since) where postponed_since is not null',

    `create table events (
    id text not null,
    organization_id text not null references organizations (id) on delete cascade,
    monitor_id text not null,
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
    truncated ${INTEGER} not null default 0,
    timed_out ${INTEGER} not null default 0,
    ${tenantKey('id')},
    ${tenantReference('monitor_id', 'monitors', 'on delete cascade')}
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

    // Ids of events ascend in the order in which the events are committed, so that a reader can continue after the last one that it read.
    `create table last_event_times (
    organization_id text primary key references organizations (id) on delete cascade,
    last_at ${INTEGER} not null
  ) ${CLUSTERED}`,

    `create table planned_changes (
    organization_id text not null references organizations (id) on delete cascade,
    id text not null,
    created_at ${INTEGER} not null,
    created_by text not null,
    monitor_id text not null,
    old_values text not null,
    new_values text not null,
    from_at ${INTEGER} not null,
    to_at ${INTEGER} not null,
    outcome text check (outcome in ('DONE', 'NOT_ARRIVED', 'CANCELED')),
    closed_at ${INTEGER},
    progress text,
    version ${INTEGER} not null default 1,
    primary key (organization_id, id),
    ${tenantReference('monitor_id', 'monitors', 'on delete cascade')}
  ) ${CLUSTERED}`,
    'create unique index open_planned_changes on planned_changes (organization_id, monitor_id) where outcome is null',
    'create index planned_changes_by_monitor on planned_changes (organization_id, monitor_id, id)',
    'create index closed_planned_changes on planned_changes (organization_id, closed_at) where closed_at is not null',

    // Found by the hash before the organization is known.
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

    `create table waits (
    organization_id text not null,
    monitor_id text not null,
    page_id text,
    started_at ${INTEGER} not null,
    deadline_at ${INTEGER} not null,
    ended_at ${INTEGER},
    result text check (result in ('valid', 'timed_out', 'stopped')),
    check_count ${INTEGER} not null default 0,
    seen text,
    seen_at ${INTEGER},
    primary key (organization_id, monitor_id),
    ${tenantReference('monitor_id', 'monitors', 'on delete cascade')}
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

    // filter: a JSON object. columns: a JSON list; null for the default ones.
    `create table views (
    organization_id text not null references organizations (id) on delete cascade,
    id text not null,
    created_at ${INTEGER} not null,
    created_by text not null,
    name text not null,
    filter text not null,
    order_by text not null,
    order_way text not null,
    columns text,
    version ${INTEGER} not null default 1,
    density text,
    primary key (organization_id, id)
  ) ${CLUSTERED}`,
  ]
}

/** Lists filter by labels. label: `tag:<tag>` or `<key>=<value>`. */
const labelTable = ({ CLUSTERED, SORTED_TEXT, tenantReference }: Dialect, object: 'monitor' | 'group') => [
  `create table ${object}_labels (
    organization_id text not null,
    label ${SORTED_TEXT} not null,
    ${object}_id text not null,
    primary key (organization_id, label, ${object}_id),
    ${tenantReference(`${object}_id`, `${object}s`, 'on delete cascade')}
  ) ${CLUSTERED}`,
  `create index ${object}_labels_by_${object} on ${object}_labels (${object}_id, organization_id)`,
]
