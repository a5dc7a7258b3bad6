import type { Migration } from './dialect.ts'

/** Whether a channel or webhook that is deleted meanwhile has received something: the first steps do not begin again. */
export const hasReceived: Migration = {
  name: 'organizations that have received an alert',
  statements: ({ INTEGER }) => [`alter table organizations add column has_received ${INTEGER} not null default 0`],
}
