import type { Migration } from '../migrate.ts'

/**
 * A slot becomes one number that no other monitor has, and alone the key of `due_checks`: 31 bits of place, as before, then
 * 21 that tell apart the monitors of one place.
 */
export const placesByNumber: Migration = {
  name: 'places by number',
  statements: ({ INTEGER, STRICT }) => {
    const unique = (table: string, id: string) => `${table}.slot * 2097152 + (select count(*) from due_checks as before
      where before.slot = ${table}.slot and before.monitor_id < ${table}.${id})`
    const kept = `monitor_id, organization_id, due_at, claimed_by, owner, record_type, is_exact_match, frequency, fingerprint,
      streak, doubts, last_checked_at`
    return [
      `create table due_checks_by_number (
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
        last_checked_at ${INTEGER}
      ) ${STRICT}`,
      `insert into due_checks_by_number (slot, ${kept})
        select ${unique('due_checks', 'monitor_id')}, ${kept} from due_checks order by slot, monitor_id`,
      `update monitors set slot = ${unique('monitors', 'id')}`,
      'drop table due_checks',
      'alter table due_checks_by_number rename to due_checks',
      'create index due_checks_by_due on due_checks (due_at)',
      'create index due_checks_by_last_checked on due_checks (organization_id, last_checked_at, monitor_id)',
    ]
  },
}
