import { sql } from 'kysely'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import { systemClock } from '../clock.ts'
import { readConfig } from '../config/config.ts'
import { systemContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import type { Engine } from '../database/engine.ts'
import { insertEvents } from '../events/store.ts'
import { readTimeline } from '../events/timeline-store.ts'
import { newId } from '../ids.ts'
import { createKeyring } from '../keyring.ts'
import { monitorsOfEvents, readSnapshot } from '../live/snapshot.ts'
import { findExisting, insertMonitors } from '../monitors/insert.ts'
import type { MonitorRow } from '../monitors/monitor.ts'
import { parseMonitor } from '../monitors/parse-monitor.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenRecordingDatabase } from '../testing/query-plans.ts'
import { readOverview } from './overview.ts'

const LARGE = 'monitors|events|due_checks|webhook_requests|due_requests|waits|incidents|incident_monitors'
const MANY = 600

/** No large table is read from end to end. */
function expectIndexes(engine: Engine, plan: string): void {
  if (engine === 'postgres') expect(plan).not.toMatch(new RegExp(`Seq Scan on (${LARGE})`))
  else expect(plan).not.toMatch(new RegExp(`SCAN (${LARGE})\\b(?! USING (COVERING )?INDEX)`))
}

onBothEngines('what the dashboard asks', (_fresh, engine) => {
  test('is read from indexes, however many monitors and events there are', async () => {
    const { db, plansOf } = await givenRecordingDatabase(engine)
    const { organizationId, monitor } = await givenMonitors(db)
    const keyring = createKeyring('x'.repeat(32))
    const config = readConfig({ SECRET: 'x'.repeat(32) })
    const deps = { db, keyring, config, clock: systemClock, log: pino({ level: 'silent' }) }
    const plans = await plansOf(async () => {
      await readOverview(deps, { organizationId })
      await readTimeline(deps, { organizationId }, monitor.id, '90d')
      await readSnapshot(db, organizationId)
      await monitorsOfEvents(db, organizationId, [newId('evt', 0)])
      await findExisting(db, { organizationId }, [monitor])
    })
    expect(plans.length).toBeGreaterThan(10)
    for (const { plan } of plans) expectIndexes(engine, plan)
    if (engine === 'postgres') return
    // The wide rows of 100,000 monitors of one zone take a second.
    const counted = plans.filter(({ sql }) => /select '(all|NOT_FOUND)'|with recursive/.test(sql))
    expect(counted).toHaveLength(2)
    for (const { plan } of counted) expect(plan.replaceAll('COVERING INDEX', '')).not.toContain('monitors USING INDEX')
  })
})

/** Some of each state, with an event each. */
async function givenMonitors(db: Database): Promise<{ organizationId: string; monitor: MonitorRow }> {
  const { id: organizationId } = await insertOrganization(
    db,
    { name: 'Test', email: 'a@example.com', passwordHash: '' },
    0,
  )
  const drafts = Array.from({ length: MANY }, (_, at) => {
    const parsed = parseMonitor({
      full_domain: `www.example${at}.com`,
      record_type: 'A',
      expected_value: '192.0.2.1',
    })
    if (!parsed.ok) throw new Error('not a monitor')
    return parsed.draft
  })
  const made = await insertMonitors(db, systemContext(organizationId, 0), drafts)
  await sql`update monitors set state = case when slot % 10 = 0 then 'BAD_SETUP' else 'VALID' end`.execute(db)
  await insertEvents(
    db,
    made.map((row, at) => ({
      id: newId('evt', at),
      organization_id: organizationId,
      monitor_id: row.id,
      group_id: row.group_id,
      occurred_at: at,
      old_state: 'VALID',
      new_state: 'BAD_SETUP',
      previous_values: null,
      current_values: null,
      incidence_count: 1,
      domain: row.domain,
      subdomain: row.subdomain,
      record_type: 'A',
      expected_values: '[]',
      is_exact_match: 1 as const,
      diagnosis: null,
    })),
  )
  await sql`analyze`.execute(db)
  return { organizationId, monitor: made[0]! }
}
