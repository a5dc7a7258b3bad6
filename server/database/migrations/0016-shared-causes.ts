import type { Migration } from './dialect.ts'

/** Incidents of recent failures, by what zones may have in common: several of them are evidence of a common cause. */
export const sharedCauses: Migration = {
  name: 'shared causes of incidents',
  statements: ({ INTEGER, CLUSTERED }) => [
    `create table incident_candidates (
      organization_id text not null,
      cause text not null,
      failed_at ${INTEGER} not null,
      incident_id text not null,
      primary key (organization_id, cause, failed_at, incident_id),
      foreign key (organization_id, incident_id) references incidents (organization_id, id) on delete cascade
    ) ${CLUSTERED}`,
    'create index incident_candidates_by_incident on incident_candidates (organization_id, incident_id)',
  ],
}
