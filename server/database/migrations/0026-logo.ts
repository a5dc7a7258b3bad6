import type { Migration } from '../migrate.ts'

/** What setup pages show of an organization beside its name. */
export const logo: Migration = {
  name: 'logo',
  // logo: a data URL of a PNG, JPEG or WebP.
  statements: () => ['alter table organizations add column logo text'],
}
