import type { Migration } from './dialect.ts'

/** The state of the network in its new words. Processes of the previous version still write `network`. */
export const networkState: Migration = {
  name: 'network state of processes',
  statements: () => ['alter table processes add column network_state text'],
}
