import { expect, test } from 'vitest'
import { expose } from '../metrics/registry.ts'
import { createManualClock } from '../testing/manual-clock.ts'
import { givenApp } from '../testing/test-app.ts'
import { DatabaseMetrics } from './database-metrics.ts'
import type { InstanceReport } from './instances.ts'

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

test.each(['sqlite', 'postgres'] as const)(
  'each gauge of the database shows what it is named after (%s)',
  async (engine) => {
    const world = await givenApp(engine)
    const { db, clock, config } = world.deps
    const { id: organization_id } = await world.organization('Acme')
    const monitor = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1', until: 'valid' }
    await world.call('/monitors', { method: 'POST', body: monitor })
    await world.call('/webhooks', { method: 'POST', body: { url: 'http://127.0.0.1:8/hook' } })
    const now = clock.now()
    const later = now + 60_000
    const ago = (seconds: number) => now - 1_000 * seconds
    const row = { claimed_by: null, organization_id }

    await db.deleteFrom('due_checks').execute()
    const check = {
      fingerprint: null,
      streak: 0,
      inconclusive_count: 0,
      last_checked_at: null,
      postponed_since: null,
      frequency: 5,
    }
    const name = { owner: 'example.com', record_type: 'A', is_exact_match: 1 as const }
    const checks = [100, 90, 80, 70, 30].map((seconds) => ago(seconds))
    await db
      .insertInto('due_checks')
      .values(
        [...checks, later].map((due_at, slot) => ({
          ...row,
          ...check,
          ...name,
          slot,
          monitor_id: `mon_${slot}`,
          due_at,
        })),
      )
      .execute()
    await db
      .updateTable('due_webhooks')
      .set({ due_at: ago(40) })
      .execute()
    await db
      .insertInto('due_webhooks')
      .values([...times(2, (at) => ago(at)), later].map((due_at, at) => ({ webhook_id: `whk_${at}`, due_at })))
      .execute()
    await db.updateTable('webhooks').set({ state: 'paused' }).execute()
    const request = { webhook_id: 'whk_0', due_at: null, claimed_by: null, is_manual: 0 as const }
    await db
      .insertInto('due_requests')
      .values(times(7, (at) => ({ ...request, request_id: `req_${at}` })))
      .execute()
    const mail = {
      organization_id,
      created_at: now,
      about: '',
      recipient: '',
      content: '{}',
      status: 'waiting',
    } as const
    await db
      .insertInto('mails')
      .values(times(8, (at) => ({ ...mail, id: `mail_${at}`, error: null, sent_at: null })))
      .execute()
    await db
      .insertInto('due_mails')
      .values(times(8, (at) => ({ ...row, mail_id: `mail_${at}`, due_at: at === 0 ? ago(50) : later })))
      .execute()
    const alert = { organization_id, created_at: now, channel_id: 'chn_1', kind: 'test', status: 'PENDING' } as const
    await db
      .insertInto('alerts')
      .values(times(6, (at) => ({ ...alert, id: `alr_${at}` })))
      .execute()
    await db
      .insertInto('due_alerts')
      .values(times(6, (at) => ({ ...row, alert_id: `alr_${at}`, due_at: at === 0 ? ago(20) : now })))
      .execute()
    await db
      .updateTable('due_waits')
      .set({ due_at: ago(10) })
      .execute()
    const report = (roles: string[]) => {
      const checked = { count: 0, average_late_ms: null, most_late_ms: 0 }
      return JSON.stringify({
        version: '0.1.0',
        roles,
        memory: 1,
        checks: checked,
        upstreams: [],
      } satisfies InstanceReport)
    }
    const instance = { machine: 'one', pid: 1, started_at: ago(60), seen_at: ago(1) }
    const instances = [
      { ...instance, report: report(['api']) },
      { ...instance, report: report(['checker', 'delivery']) },
      { ...instance, report: report(['checker']) },
      { ...instance, report: report(['checker']), seen_at: ago(9) },
    ]
    const ids = await db.insertInto('processes').values(instances).returning('id').execute()

    const { text } = await expose([
      { families: await new DatabaseMetrics({ db, clock: createManualClock(now), config }).collect() },
    ])
    const found = Object.fromEntries(
      text.split('\n').flatMap((line) => (/^[a-z]/.test(line) ? [line.split(' ') as [string, string]] : [])),
    )
    const { zonewatch_database_size_bytes: size, zonewatch_database_wal_bytes: wal, ...others } = found
    const { zonewatch_database_disk_free_bytes: diskFree, ...counts } = others
    const heartbeat = (at: number, seconds: number) => [
      `zonewatch_instance_last_heartbeat_timestamp_seconds{id="${ids[at]!.id}"}`,
      String(ago(seconds) / 1_000),
    ]
    expect(counts).toEqual({
      zonewatch_due_checks: '5',
      zonewatch_overdue_checks: '4',
      zonewatch_oldest_due_check_age_seconds: '100',
      zonewatch_due_webhooks: '3',
      zonewatch_delivery_queue_age_seconds: '40',
      zonewatch_pending_webhook_requests: '7',
      zonewatch_paused_webhooks: '1',
      zonewatch_pending_mails: '8',
      zonewatch_mail_queue_age_seconds: '50',
      zonewatch_due_alerts: '6',
      zonewatch_alert_queue_age_seconds: '20',
      zonewatch_due_waits: '1',
      zonewatch_oldest_due_wait_age_seconds: '10',
      'zonewatch_instances{role="api"}': '1',
      'zonewatch_instances{role="checker"}': '2',
      'zonewatch_instances{role="delivery"}': '1',
      ...Object.fromEntries([1, 1, 1, 9].map((seconds, at) => heartbeat(at, seconds))),
    })
    expect(Number(size)).toBeGreaterThan(10_000)
    // Of a server that writes it is never empty.
    if (engine === 'sqlite') expect([Number(wal) > 1_000, Number(diskFree) > 1_000]).toEqual([true, true])
    else expect([wal, diskFree]).toEqual([undefined, undefined])
  },
)
