import type { Dialect, Migration } from '../migrate.ts'
import { nameOrder } from '../monitor-texts.ts'

/** What monitors are ordered by their names with. Triggers keep it, so that a program of the version before does too. `monitors/fill.ts` adds the others. */
export const nameOrders: Migration = {
  name: 'name order',
  statements: (words) => [
    `alter table monitors add column name_order text${words.ENGINE === 'sqlite' ? '' : ' collate "C"'}`,
    'create index monitors_by_name on monitors (organization_id, name_order, id)',
    // One row while it is missing in monitors. after_id: the last one that was looked at.
    `create table name_order_fill (number ${words.INTEGER} primary key, after_id text not null) ${words.STRICT}`,
    `insert into name_order_fill (number, after_id) values (1, '')`,
    ...(words.ENGINE === 'sqlite' ? onSqlite(words) : onPostgres(words)),
  ],
}

const onSqlite = (words: Dialect) =>
  ['insert', 'update of owner'].map(
    (change) => `create trigger monitors_${change.slice(0, 6)}_name after ${change} on monitors begin
      update monitors set name_order = ${nameOrder('new.owner', words)} where id = new.id;
    end`,
  )

const onPostgres = (words: Dialect) => [
  `create function set_name_order() returns trigger language plpgsql set search_path from current as $$ begin
      new.name_order := ${nameOrder('new.owner', words)};
      return new;
    end $$`,
  `create trigger monitors_name before insert or update of owner on monitors
    for each row execute function set_name_order()`,
]
