import type { Migration } from './dialect.ts'

/** Whose answers a monitor is about. */
export const resolution: Migration = {
  name: 'resolution of monitors',
  statements: () => [`alter table monitors add column resolution text not null default 'auto'`],
}
