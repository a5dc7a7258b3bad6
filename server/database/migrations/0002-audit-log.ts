import type { Migration } from '../migrate.ts'

/** Who changed what, and from where. */
export const auditLog: Migration = {
  name: 'audit log',
  statements: ({ INTEGER, CLUSTERED }) => [
    `create table audit_log (
      organization_id text not null references organizations (id) on delete cascade,
      id text not null,
      occurred_at ${INTEGER} not null,
      actor_type text not null check (actor_type in ('person', 'key', 'system', 'operator')),
      actor_id text not null,
      actor_label text not null,
      action text not null,
      object_type text not null,
      object_id text,
      object_label text,
      object_count ${INTEGER} not null,
      object_ids text not null,
      changed_from text,
      changed_to text,
      address text,
      request_id text,
      primary key (organization_id, id)
    ) ${CLUSTERED}`,
    // One for each filter. Ids begin with the time, so that each index is in the order of the list.
    'create index audit_log_by_actor on audit_log (organization_id, actor_id, id)',
    'create index audit_log_by_action on audit_log (organization_id, action, id)',
    'create index audit_log_by_object_type on audit_log (organization_id, object_type, id)',
    'create index audit_log_by_object on audit_log (organization_id, object_id, id)',
  ],
}
