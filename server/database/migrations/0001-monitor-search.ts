import type { Dialect } from './dialect.ts'

/**
 * The searched text of each monitor with an index of its trigrams (docs/decisions/0018-search-by-trigrams.md), and the order of names. Triggers write both. A
 * change of what they compute needs a migration that computes it again.
 */
export const monitorSearch = (dialect: Dialect): string[] => (dialect.ENGINE === 'sqlite' ? SQLITE : POSTGRES)

const SEARCHED = ['owner', 'external_id', 'tags', 'metadata', 'expected_values']

/** Each searched column in lines of its own, without the escapes of JSON. `row`: `new`, or the name of a table. */
const searchText = (row: string) => {
  const lists = ['tags', 'metadata', 'expected_values'].map((column) => `${row}.${column}`).join(` || '\n' || `)
  return `${row}.owner || '\n' || coalesce(${row}.external_id, '') || '\n' || replace(replace(${lists}, '\\"', '"'), '\\\\', '\\')`
}

// Letters beyond ASCII keep their case on both engines.
const sqliteText = (row: string) => `substr(lower(${searchText(row)}), 1, 2000)`
const postgresText = (row: string) => `substr(lower((${searchText(row)}) collate "C"), 1, 2000)`

/** The rows of an organization have consecutive numbers, so that a search reads only these in the index. */
const NEXT_NUMBER = `coalesce(
  (select max(number) + 1 from monitor_texts where organization_id = new.organization_id),
  (((select coalesce(max(number), 0) from monitor_texts) >> 32) + 1) << 32)`

// The order of names: the labels from the last to the first, separated by a space, which no label contains and which sorts before all
// that labels contain. It is the canonical order of RFC 4034 section 6.1, in which the names of a zone follow one another.

const SQLITE = [
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
  ...['insert', `update of ${SEARCHED.join(', ')}`].map(
    (change) => `create trigger monitors_${change.slice(0, 6)}_text after ${change} on monitors begin
      insert into monitor_texts (number, organization_id, monitor_id, text)
        values (${NEXT_NUMBER}, new.organization_id, new.id, ${sqliteText('new')})
        on conflict (organization_id, monitor_id) do update set text = excluded.text;
    end`,
  ),
  `create trigger monitors_delete_text after delete on monitors begin
    delete from monitor_texts where organization_id = old.organization_id and monitor_id = old.id;
  end`,
  ...['insert', 'update of owner'].map(
    (change) => `create trigger monitors_${change.slice(0, 6)}_name after ${change} on monitors begin
      update monitors set name_order = (select group_concat(value, ' ' order by key desc)
        from json_each('[' || replace(json_quote(new.owner), '.', '","') || ']')) where id = new.id;
    end`,
  ),
]

const POSTGRES = [
  `create table monitor_texts (
    organization_id text not null,
    monitor_id text not null,
    text text collate "C" not null,
    primary key (organization_id, monitor_id),
    foreign key (monitor_id, organization_id) references monitors (id, organization_id) on delete cascade
  )`,
  // Three bytes of text in the lower bits and the organization in the others, so that each organization has its own entries in the index.
  // A loop in PL/pgSQL takes a tenth of the time of generate_series.
  `create function search_trigrams(organization_id text, text text) returns bigint[]
    language plpgsql immutable strict parallel safe as $$
    declare
      bytes bytea := convert_to(text, 'UTF8');
      seed bigint := ('x' || substr(encode(sha256(convert_to(organization_id, 'UTF8')), 'hex'), 1, 16))::bit(64)::bigint;
      trigrams bigint[] := '{}';
    begin
      for index in 0..length(bytes) - 3 loop
        trigrams[index + 1] :=
          seed # (get_byte(bytes, index) << 16 | get_byte(bytes, index + 1) << 8 | get_byte(bytes, index + 2));
      end loop;
      return trigrams;
    end $$`,
  // Inserts collect in a list that searches read too, so the list is short.
  `create index monitor_texts_by_trigram on monitor_texts using gin (search_trigrams(organization_id, text))
    with (gin_pending_list_limit = 1024)`,
  `create function insert_monitor_texts() returns trigger language plpgsql set search_path from current as $$ begin
      insert into monitor_texts (organization_id, monitor_id, text)
        select organization_id, id, ${postgresText('inserted')} from inserted
        on conflict do nothing;
      return null;
    end $$`,
  `create trigger monitors_insert_text after insert on monitors referencing new table as inserted
    for each statement execute function insert_monitor_texts()`,
  `create function update_monitor_text() returns trigger language plpgsql set search_path from current as $$ begin
      insert into monitor_texts (organization_id, monitor_id, text)
        values (new.organization_id, new.id, ${postgresText('new')})
        on conflict (organization_id, monitor_id) do update set text = excluded.text;
      return null;
    end $$`,
  `create trigger monitors_update_text after update of ${SEARCHED.join(', ')} on monitors
    for each row execute function update_monitor_text()`,
  `create function set_name_order() returns trigger language plpgsql set search_path from current as $$ begin
      new.name_order := (select string_agg(label, ' ' order by index desc)
        from unnest(string_to_array(new.owner, '.')) with ordinality as labels (label, index));
      return new;
    end $$`,
  `create trigger monitors_name before insert or update of owner on monitors
    for each row execute function set_name_order()`,
]
