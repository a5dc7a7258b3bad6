import type { Migration } from './dialect.ts'

/** Organizations that are being deleted, and what finds the mails and invitations of a person. */
export const deletion: Migration = {
  name: 'deletion of organizations',
  statements: ({ INTEGER }) => [
    `alter table organizations add column deletion_requested_at ${INTEGER}`,
    'alter table organizations add column deletion_requested_by text',
    `alter table organizations add column deletion_at ${INTEGER}`,
    `alter table organizations add column deletion_worked_at ${INTEGER}`,
    'create index organizations_in_deletion on organizations (deletion_at) where deletion_at is not null',
    'create index mails_by_recipient on mails (recipient, id)',
    'create index invitations_not_accepted on invitations (expires_at) where accepted_at is null',
  ],
}
