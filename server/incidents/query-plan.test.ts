import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import { createKeyring } from '../keyring.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenRecordingDatabase } from '../testing/query-plans.ts'
import { groupedFailure, loadIncidentGrouping } from './grouping.ts'
import { countWithdrawn, openMemberships } from './memberships.ts'
import { recordRecoveries } from './resolve.ts'
import { listIncidents, listOpenIncidents } from './store.ts'

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
    await loadIncidentGrouping(db, 'org_1', [groupedFailure(event)])
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

test('on SQLite the failing monitors that an incident names are read without its recovered ones', async () => {
  const { db, plansOf } = await givenRecordingDatabase('sqlite')
  const { id: organization_id } = await insertOrganization(db, { name: '', email: '', passwordHash: '' }, 0)
  const open = { ...INCIDENT, resolved_at: null, failing: 1 }
  await db
    .insertInto('incidents')
    .values({ organization_id, id: 'inc_1', cause: '1', ...open })
    .execute()
  const plans = await plansOf(() => listOpenIncidents(db, { organizationId: organization_id }, 20))
  const members = plans.find(({ sql }) => sql.includes('failing_since'))!
  expect(members.plan).toContain(
    'incident_monitors USING INDEX incident_monitors_failing (organization_id=? AND incident_id=?)',
  )
  expect(members.plan).not.toMatch(/SCAN (monitors|events|incident_monitors)/)
})

onBothEngines('the incidents of a group', (_fresh, engine) => {
  test('are read in their order from the index of the group, which a page continues', async () => {
    const { db, plansOf } = await givenRecordingDatabase(engine)
    const keyring = createKeyring('x'.repeat(32))
    const { id: organization_id } = await insertOrganization(db, { name: '', email: '', passwordHash: '' }, 0)
    const rows = Array.from({ length: 600 }, (_, at) => ({
      organization_id,
      id: `inc_${at}`,
      cause: `${at}`,
      ...INCIDENT,
    }))
    await db.insertInto('incidents').values(rows).execute()
    const groups = [GROUP, GROUP.replace('0', '1')].flatMap((group_id, first) =>
      rows
        .slice(first, first === 0 ? 3 : 600)
        .map(({ id: incident_id }) => ({ organization_id, group_id, incident_id })),
    )
    await db.insertInto('incident_groups').values(groups).execute()
    await sql`analyze`.execute(db)
    const tenant = { organizationId: organization_id }
    const { after } = await listIncidents(db, keyring, tenant, { group: GROUP, limit: 1 })
    const plans = await plansOf(() => listIncidents(db, keyring, tenant, { group: GROUP, limit: 2, after: after! }))
    const { plan } = plans.find(({ sql }) => sql.includes(' > '))!
    for (const each of plans.filter(({ sql }) => sql.includes('incident_groups')))
      expect(each.plan).not.toMatch(/Seq Scan|Sort|SCAN|TEMP B-TREE/)
    if (engine === 'sqlite')
      expect(plan.split('\n')).toEqual([
        'SEARCH incident_groups USING PRIMARY KEY (organization_id=? AND group_id=? AND incident_id>?)',
        'SEARCH incidents USING PRIMARY KEY (organization_id=? AND id=?)',
      ])
    else expect(plan).toMatch(/incident_groups_pkey.*\n.*Index Cond: .*group_id = .* AND \(incident_id > /)
  })
})

const GROUP = `grp_${'0'.repeat(26)}`
const INCIDENT = {
  cause_kind: 'zone',
  zone: '',
  state: 'VALID',
  opened_at: 0,
  resolved_at: 0,
  monitors: 0,
  failing: 0,
} as const
