import type { Dialect, Migration } from '../migrate.ts'

/** External ids, tags and metadata of monitors and groups, and what webhooks add to their payload. Old rows have none. */
export const labels: Migration = {
  name: 'labels',
  statements: (words) => [
    ...['monitors', 'groups'].flatMap((table) => [
      `alter table ${table} add column external_id text`,
      `alter table ${table} add column tags text not null default '[]'`,
      `alter table ${table} add column metadata text not null default '{}'`,
      `create unique index ${table}_by_external_id on ${table} (organization_id, external_id)
        where external_id is not null`,
    ]),
    ...labelTable(words, 'monitor'),
    ...labelTable(words, 'group'),
    `alter table webhooks add column payload_includes text not null default '[]'`,
    // JSON: what payloads can include of the monitor, as it was when the event happened.
    'alter table fan_outs add column monitor text',
  ],
}

/** What lists filter by. label: `tag:<tag>` or `<key>=<value>`. */
const labelTable = ({ ENGINE, CLUSTERED }: Dialect, object: 'monitor' | 'group') => [
  `create table ${object}_labels (
    organization_id text not null,
    label ${ENGINE === 'sqlite' ? 'text' : 'text collate "C"'} not null,
    ${object}_id text not null,
    primary key (organization_id, label, ${object}_id),
    ${
      ENGINE === 'sqlite'
        ? `foreign key (${object}_id) references ${object}s (id) on delete cascade`
        : `foreign key (${object}_id, organization_id) references ${object}s (id, organization_id) on delete cascade`
    }
  ) ${CLUSTERED}`,
  `create index ${object}_labels_by_${object} on ${object}_labels (${object}_id, organization_id)`,
]
