import { expect, test } from 'vitest'
import type { WebhookRequestQuery } from '#contract/webhooks.ts'
import type { Database } from '../database/database.ts'
import { createKeyring } from '../keyring.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenRecordingDatabase } from '../testing/query-plans.ts'
import { listRequests, listUndelivered } from './request-store.ts'

const FILTERS: Partial<WebhookRequestQuery>[] = [
  {},
  { status: 'FAILED' },
  { status: 'DELIVERED' },
  { status_code: 500 },
  { status_code: 204 },
  { monitor_id: 'mon_1' },
  { event_id: 'evt_1' },
  { created_after: '2026-01-01T00:00:00Z' },
  { created_before: '2026-01-01T00:00:00Z' },
  { delivered_before: '2026-01-01T00:00:00Z' },
  { delivered_after: '2026-01-01T00:00:00Z' },
  { last_attempt_after: '2026-01-01T00:00:00Z' },
  { status: 'FAILED', status_code: 500, monitor_id: 'mon_1', event_id: 'evt_1' },
]

const keyring = createKeyring('x'.repeat(32))

/** Requests of one webhook that wait. */
async function givenRequests(db: Database): Promise<void> {
  await db
    .insertInto('organizations')
    .values({ id: 'org_1', created_at: 0, name: 'Test', slug: 'test', event_retention_days: null })
    .execute()
  const encrypted = Buffer.from('')
  const webhook = {
    id: 'whk_1',
    organization_id: 'org_1',
    created_at: 0,
    url: '',
    secret: encrypted,
    headers: encrypted,
  } as const
  await db
    .insertInto('webhooks')
    .values({ ...webhook, is_active: 1, state: 'active' })
    .execute()
  await db.insertInto('due_webhooks').values({ webhook_id: 'whk_1', due_at: null }).execute()
  const rows = Array.from({ length: 300 }, (_, index) => ({
    id: `req_${String(index).padStart(4, '0')}`,
    organization_id: 'org_1',
    webhook_id: 'whk_1',
    event_id: 'evt_1',
    monitor_id: 'mon_1',
    created_at: index,
    body: encrypted,
    status: 'PENDING' as const,
    attempts: 0,
    retries: 0,
  }))
  await db.insertInto('webhook_requests').values(rows).execute()
}

onBothEngines('the list of requests', (_fresh, engine) => {
  test('every filter in every order uses an index, and no page sorts the history', async () => {
    const { db, plansOf } = await givenRecordingDatabase(engine)
    await givenRequests(db)

    for (const filter of FILTERS) {
      for (const order_by of ['created', 'last_attempt']) {
        for (const order_way of ['asc', 'desc'] as const) {
          const query = { ...filter, order_by, order_way, limit: 2 }
          const list = (more: object) =>
            listRequests(
              db,
              keyring,
              { organizationId: 'org_1', webhookId: 'whk_1', query: { ...query, ...more } },
              1_000,
            )
          const plans = await plansOf(async () => {
            const { after } = await list({})
            if (after) await list({ after })
          })
          for (const { sql, plan } of plans) {
            const said = `${JSON.stringify(query)}\n${sql}\n${plan}`
            expect(plan, said).not.toMatch(/SCAN webhook_requests|Seq Scan on webhook_requests/)
            // What a filter of another kind than the order leaves may be sorted.
            const isOther = order_by === 'last_attempt' || 'last_attempt_after' in filter || 'delivered_after' in filter
            const isSortable = isOther && Object.keys(filter).length > 0
            if (!isSortable) expect(plan, said).not.toMatch(/TEMP B-TREE|Sort Key/)
          }
        }
      }
    }
  })

  test('of undelivered requests uses an index with every filter, and scans no table', async () => {
    const { db, plansOf } = await givenRecordingDatabase(engine)
    await givenRequests(db)
    for (const status of [undefined, 'PENDING', 'FAILED'] as const) {
      for (const webhook_id of [undefined, 'whk_1', 'whk_none']) {
        for (const since of [undefined, '1970-01-01T00:00:00.100Z']) {
          for (const order_way of ['asc', 'desc'] as const) {
            const query = { limit: 2, order_way, ...JSON.parse(JSON.stringify({ status, webhook_id, since })) }
            const list = (more: object) =>
              listUndelivered(db, keyring, { organizationId: 'org_1' }, { ...query, ...more }, 1_000)
            const plans = await plansOf(async () => {
              const { after } = await list({})
              if (after) await list({ after })
            })
            for (const { sql, plan } of plans.filter(({ sql }) => sql.includes('webhook_requests'))) {
              const said = `${JSON.stringify(query)}\n${sql}\n${plan}`
              expect(plan, said).not.toMatch(/SCAN webhook_requests|Seq Scan on webhook_requests/)
              // Those of one webhook with any status are few, or read in the order of the organization's.
              const isSortable = webhook_id !== undefined && status === undefined
              if (!isSortable) expect(plan, said).not.toMatch(/TEMP B-TREE|Sort Key/)
            }
          }
        }
      }
    }
  })

  test('of undelivered requests has the failed and the queued ones of all webhooks, in pages, and none of other organizations', async () => {
    const { db } = await givenRecordingDatabase(engine)
    await givenRequests(db)
    const set = (id: string, columns: object) =>
      db.updateTable('webhook_requests').set(columns).where('id', '=', id).execute()
    await set('req_0000', { status: 'DELIVERED' })
    await set('req_0001', { status: 'FAILED' })
    await set('req_0002', { webhook_id: 'whk_gone' })
    const list = async (query: object, organizationId = 'org_1') => {
      const page = await listUndelivered(db, keyring, { organizationId }, { limit: 3, ...query }, 1_000)
      return { ...page, ids: page.data.map(({ id }) => id) }
    }
    const first = await list({})
    expect(first.ids).toEqual(['req_0001', 'req_0003', 'req_0004'])
    const second = await list({ after: first.after })
    expect(second.ids).toEqual(['req_0005', 'req_0006', 'req_0007'])
    expect((await list({ before: second.before })).ids).toEqual(first.ids)
    expect((await list({ order_way: 'desc' })).ids).toEqual(['req_0299', 'req_0298', 'req_0297'])
    expect((await list({ status: 'FAILED' })).ids).toEqual(['req_0001'])
    expect((await list({ webhook_id: 'whk_1', status: 'FAILED' })).ids).toEqual(['req_0001'])
    expect((await list({ webhook_id: 'whk_none' })).ids).toEqual([])
    expect((await list({ since: '1970-01-01T00:00:00.299Z' })).ids).toEqual(['req_0299'])
    expect((await list({}, 'org_2')).ids).toEqual([])
    await expect(list({ status: 'FAILED', after: first.after })).rejects.toThrow()
  })
})
