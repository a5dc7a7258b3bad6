import { expect, test } from 'vitest'
import { givenRecordingDatabase } from '../testing/query-plans.ts'
import { loadIncidentGrouping } from './incident-grouping.ts'
import { openMemberships } from './incident-monitors.ts'
import { countWithdrawn, recordRecoveries } from './resolve-incidents.ts'

const event = {
  ...{
    id: 'evt_1',
    monitor_id: 'mon_1',
    group_id: 'grp_1',
    occurred_at: 0,
    old_state: 'VALID',
    new_state: 'NOT_FOUND',
  },
  ...{ domain: 'example.com', subdomain: '', record_type: 'A', current_values: null, diagnosis: null },
}

// PostgreSQL chooses by its statistics, which SQLite does not have.
test('on SQLite an evaluation reads neither all failing monitors nor resolved incidents', async () => {
  const { db, plansOf } = await givenRecordingDatabase('sqlite')
  const plans = await plansOf(async () => {
    await openMemberships(db, 'org_1', ['mon_1'])
    await loadIncidentGrouping(db, 'org_1', [event])
    await recordRecoveries(db, 'org_1', [{ monitor_id: 'mon_1', incident_id: 'inc_1' }], 0)
  })

  const of = (table: string) => plans.filter(({ sql }) => sql.includes(`from "${table}"`)).map(({ plan }) => plan)
  const [places, incidents] = [of('incident_monitors'), of('incidents')]
  expect([places.length, incidents.length]).toEqual([2, 3])
  for (const plan of places) expect(plan).toContain('failing_monitors (organization_id=? AND monitor_id=?)')
  for (const plan of incidents) expect(plan).toMatch(/\(organization_id=\? AND (cause|id)=\?\)/)
})

test('on SQLite the monitors that left an incident are counted without reading the recovered ones', async () => {
  const { db, plansOf } = await givenRecordingDatabase('sqlite')
  const plans = await plansOf(() => countWithdrawn(db, 'org_1', 'inc_1'))
  expect(plans.map(({ plan }) => plan)).toEqual([
    'SEARCH incident_monitors USING COVERING INDEX left_monitors_of_incident (organization_id=? AND incident_id=? AND left_at>?)',
  ])
})
