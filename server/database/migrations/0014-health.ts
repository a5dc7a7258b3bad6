import type { Migration } from '../migrate.ts'

/** What the overview shows at its top: what each process does, webhooks that do not deliver, and changes apart from first results. */
export const health: Migration = {
  name: 'health',
  statements: () => [
    'alter table processes add column loops text',
    'alter table processes add column network text',
    // Without the first results, with which an import of thousands fills the events.
    `create index changes_by_organization on events (organization_id, occurred_at, id) where old_state <> 'UNSET'`,
    `create index changes_by_group on events (group_id, occurred_at, id) where old_state <> 'UNSET'`,
    `create index changes_by_new_state on events (organization_id, new_state, occurred_at, id) where old_state <> 'UNSET'`,
    // A webhook that delivers is not in it.
    `create index webhooks_in_trouble on webhooks (organization_id, state, id)
      where is_active = 1 and (state = 'paused' or last_error is not null)`,
  ],
}
