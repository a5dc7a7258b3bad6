import type { Migration } from '../migrate.ts'

/** The time step of the last code that was accepted, so that none is accepted twice: RFC 6238 section 5.2. */
export const codesOnce: Migration = {
  name: 'codes once',
  statements: ({ INTEGER }) => [`alter table second_factors add column last_step ${INTEGER} not null default 0`],
}
