import type { Migration } from './dialect.ts'

/** Removes the one index that every check moves. An older program names it in statements, on SQLite. */
export const noOrderByLastCheck: Migration = {
  name: 'no order by last check',
  statements: () => [
    'drop index due_checks_by_last_checked',
    `update views set order_by = 'created', order_way = 'asc' where order_by = 'last_checked'`,
  ],
  needs: { sqlite: 'itself', postgres: 0 },
}
