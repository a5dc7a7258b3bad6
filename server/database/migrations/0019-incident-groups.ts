import type { Migration } from './dialect.ts'

/** The groups whose monitors failed in an incident, so that the incidents of a group are read in their order. */
export const incidentGroups: Migration = {
  name: 'groups of incidents',
  statements: ({ CLUSTERED }) => [
    `create table incident_groups (
      organization_id text not null,
      group_id text not null,
      incident_id text not null,
      primary key (organization_id, group_id, incident_id),
      foreign key (organization_id, incident_id) references incidents (organization_id, id) on delete cascade
    ) ${CLUSTERED}`,
    'create index incident_groups_by_incident on incident_groups (organization_id, incident_id, group_id)',
    `insert into incident_groups (organization_id, group_id, incident_id)
      select distinct events.organization_id, events.group_id, incident_events.incident_id
      from incident_events join events on events.organization_id = incident_events.organization_id
        and events.id = incident_events.event_id`,
  ],
}
