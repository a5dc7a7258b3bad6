import { expect, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import { pruneAccess } from '../accounts/prune.ts'
import { deleteOldAlerts } from '../alerts/retention.ts'
import { systemClock } from '../clock.ts'
import { deleteOldEvents } from '../events/retention.ts'
import { pruneRateLog } from '../http/rate-limiter.ts'
import { deleteOldJobs } from '../jobs/retention.ts'
import { deleteOldMails } from '../mail/outbox.ts'
import { SELF_HOSTED } from '../plan.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenRecordingDatabase } from '../testing/query-plans.ts'
import { deleteWaitingEvents } from '../webhooks/batches.ts'

onBothEngines('the query plans of deletions in batches', (_fresh, engine) => {
  test('find the oldest rows and their keys by an index', async () => {
    const { db, plansOf } = await givenRecordingDatabase(engine, { kind: 'delete' })
    const deps = { db, clock: systemClock, config: { plans: SELF_HOSTED, jobStoredBytes: 1 } }
    const stop = new AbortController().signal
    const given = { name: 'Acme', email: 'owner@example.com', passwordHash: '' }
    const { id: organization_id } = await insertOrganization(db, given, 0)
    await db.updateTable('organizations').set({ event_retention_days: 30 }).execute()
    const incident = { cause: 'zone', zone: '', state: 'VALID', opened_at: 0, resolved_at: 0, monitors: 0, failing: 0 }
    await db
      .insertInto('incidents')
      .values({ organization_id, id: 'inc_1', ...incident })
      .execute()
    const job = {
      created_at: 0,
      created_by: '',
      audit_id: '',
      action: 'check',
      is_dry_run: 0,
      selection: '{}',
    } as const
    await db
      .insertInto('jobs')
      .values({ organization_id, id: 'job_1', ...job, state: 'finished', finished_at: 0 })
      .execute()
    const plans = await plansOf(async () => {
      await deleteOldEvents(deps, stop)
      await deleteOldAlerts(deps, stop)
      await deleteOldJobs(deps, stop)
      await deleteOldMails(deps, stop)
      await deleteWaitingEvents(db, { organizationId: 'org_1', webhookId: 'whk_1' })
      await pruneAccess(db, 0)
      await pruneRateLog(db, 0)
    })
    const batches = plans.filter(({ sql }) => sql.includes('limit'))
    expect(batches).toHaveLength(16)
    for (const { plan } of batches)
      expect(plan).not.toMatch(
        engine === 'sqlite' ? /SCAN|TEMP B-TREE/ : /Seq Scan|Sort|Filter: .*ANY_subquery|Disabled: true/,
      )
  })
})
