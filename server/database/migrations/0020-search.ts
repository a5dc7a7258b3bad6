import type { Dialect, Migration } from '../migrate.ts'
import { NEXT_NUMBER, searchText } from '../monitor-texts.ts'

/**
 * What a search looks at, as one text for each monitor, and an index of its trigrams (docs/decisions/0018). Triggers keep both, so that a
 * program of the version before does too. `monitors/fill.ts` adds the monitors that there are already.
 */
export const search: Migration = {
  name: 'search',
  statements: (words) => [
    // One row while monitors are missing. after_id: the last one that was added.
    `create table search_fill (number ${words.INTEGER} primary key, after_id text not null) ${words.STRICT}`,
    `insert into search_fill (number, after_id) values (1, '')`,
    ...(words.ENGINE === 'sqlite' ? onSqlite(words) : onPostgres()),
  ],
}

const SEARCHED = ['owner', 'external_id', 'tags', 'metadata', 'expected_values']

const onSqlite = (words: Dialect) => [
  `create table monitor_texts (
    number integer primary key,
    organization_id text not null,
    monitor_id text not null,
    text text not null,
    unique (organization_id, monitor_id)
  ) strict`,
  'create index monitor_texts_by_number on monitor_texts (organization_id, number)',
  `create virtual table monitor_search using fts5 (text, content = 'monitor_texts', content_rowid = 'number',
    tokenize = 'trigram', detail = none, columnsize = 0)`,
  `create trigger monitor_texts_insert after insert on monitor_texts begin
    insert into monitor_search (rowid, text) values (new.number, new.text);
  end`,
  `create trigger monitor_texts_delete after delete on monitor_texts begin
    insert into monitor_search (monitor_search, rowid, text) values ('delete', old.number, old.text);
  end`,
  `create trigger monitor_texts_update after update of text on monitor_texts begin
    insert into monitor_search (monitor_search, rowid, text) values ('delete', old.number, old.text);
    insert into monitor_search (rowid, text) values (new.number, new.text);
  end`,
  ...[`insert`, `update of ${SEARCHED.join(', ')}`].map(
    (change) => `create trigger monitors_${change.slice(0, 6)}_text after ${change} on monitors begin
      insert into monitor_texts (number, organization_id, monitor_id, text)
        values (${NEXT_NUMBER('new.organization_id')}, new.organization_id, new.id, ${searchText('new', words)})
        on conflict (organization_id, monitor_id) do update set text = excluded.text;
    end`,
  ),
  `create trigger monitors_delete_text after delete on monitors begin
    delete from monitor_texts where organization_id = old.organization_id and monitor_id = old.id;
  end`,
]

const onPostgres = () => [
  `create table monitor_texts (
    organization_id text not null,
    monitor_id text not null,
    text text collate "C" not null,
    primary key (organization_id, monitor_id),
    foreign key (monitor_id, organization_id) references monitors (id, organization_id) on delete cascade
  )`,
  // Three octets in the lower bits, and the organization in the others, so that each has its own entries in the index. A loop in PL/pgSQL
  // takes a tenth of the time of generate_series.
  `create function search_trigrams(organization_id text, text text) returns bigint[]
    language plpgsql immutable strict parallel safe as $$
    declare
      octets bytea := convert_to(text, 'UTF8');
      seed bigint := ('x' || substr(encode(sha256(convert_to(organization_id, 'UTF8')), 'hex'), 1, 16))::bit(64)::bigint;
      trigrams bigint[] := '{}';
    begin
      for place in 0..length(octets) - 3 loop
        trigrams[place + 1] :=
          seed # (get_byte(octets, place) << 16 | get_byte(octets, place + 1) << 8 | get_byte(octets, place + 2));
      end loop;
      return trigrams;
    end $$`,
  // Inserts collect in a list that searches read too; it is kept short.
  `create index monitor_texts_by_trigram on monitor_texts using gin (search_trigrams(organization_id, text))
    with (gin_pending_list_limit = 1024)`,
  `create function insert_monitor_texts() returns trigger language plpgsql set search_path from current as $$ begin
      insert into monitor_texts (organization_id, monitor_id, text)
        select organization_id, id, ${searchText('made', { ENGINE: 'postgres' })} from made
        on conflict do nothing;
      return null;
    end $$`,
  `create trigger monitors_insert_text after insert on monitors referencing new table as made
    for each statement execute function insert_monitor_texts()`,
  `create function update_monitor_text() returns trigger language plpgsql set search_path from current as $$ begin
      insert into monitor_texts (organization_id, monitor_id, text)
        values (new.organization_id, new.id, ${searchText('new', { ENGINE: 'postgres' })})
        on conflict (organization_id, monitor_id) do update set text = excluded.text;
      return null;
    end $$`,
  `create trigger monitors_update_text after update of ${SEARCHED.join(', ')} on monitors
    for each row execute function update_monitor_text()`,
]
