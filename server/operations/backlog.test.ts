import { expect, test } from 'vitest'
import { recordFailedBackup, recordMadeBackup } from '../backup/last-backup.ts'
import { readConfig } from '../config/config.ts'
import { expose } from '../metrics/registry.ts'
import { claimDue } from '../queue/lease-queue.ts'
import { onBothEngines } from '../testing/database.ts'
import { createManualClock } from '../testing/manual-clock.ts'
import { givenRecordingDatabase } from '../testing/query-plans.ts'
import type { Settings } from '../testing/server-process.ts'
import { readBacklog } from './backlog.ts'
import { DatabaseMetrics } from './database-metrics.ts'
import { readSizes, recordSize } from './database-size.ts'

const NOW = 1_000_000_000_000
const UNCHECKED = {
  claimed_by: null,
  fingerprint: null,
  streak: 0,
  inconclusive_count: 0,
  last_checked_at: null,
  postponed_since: null,
}
const due = (slot: number, dueAt: number | null) => ({
  slot,
  monitor_id: `mon_${slot}`,
  organization_id: 'org_1',
  due_at: dueAt,
  owner: 'example.com',
  record_type: 'A',
  is_exact_match: 1 as const,
  frequency: 5,
  ...UNCHECKED,
})

onBothEngines('the backlog', (fresh, engine) => {
  test('has the number of due rows and the age of the oldest', async () => {
    const db = await fresh()
    expect(await readBacklog(db, NOW)).toMatchObject({ due_checks: 0, check_age: 0, pending_mails: 0, mail_age: 0 })
    const times = [NOW - 90_000, NOW - 60_001, NOW - 1_000, NOW, NOW + 1, null]
    await db
      .insertInto('due_checks')
      .values(times.map((at, slot) => due(slot, at)))
      .execute()

    expect(await readBacklog(db, NOW)).toMatchObject({ due_checks: 4, overdue_checks: 2, check_age: 90_000 })

    // A late check is late also while it is in progress.
    await claimDue(db, 'due_checks', { now: NOW, process: 1, limit: 4 })
    expect(await readBacklog(db, NOW)).toMatchObject({ due_checks: 2, overdue_checks: 2, check_age: 90_000 })
  })

  test('the metrics have the time and the size of the last backup, and whether a later one failed', async () => {
    const db = await fresh()
    const clock = createManualClock(NOW)
    const backups = async (settings: Settings) => {
      const config = readConfig({ DATABASE_URL: 'sqlite:/nowhere.db', ...settings })
      const { text } = await expose([{ families: await new DatabaseMetrics({ db, clock, config }).collect() }])
      return text.split('\n').filter((line) => /^zonewatch_(last_)?backup/.test(line))
    }
    const every = 'zonewatch_backup_interval_seconds 3600'
    expect(await backups({})).toEqual([])
    const scheduled = { BACKUP_DIR: '/backups', BACKUP_EVERY: '1h' }
    expect(await backups(scheduled)).toEqual(['zonewatch_last_backup_timestamp_seconds 0', every])

    await recordMadeBackup(db, { at: NOW - 5_000, path: '/backups/one', bytes: 77, durationMs: 1 })
    const [at, size] = [
      `zonewatch_last_backup_timestamp_seconds ${NOW / 1_000 - 5}`,
      'zonewatch_last_backup_size_bytes 77',
    ]
    expect(await backups(scheduled)).toEqual([at, 'zonewatch_last_backup_failed 0', size, every])
    await recordFailedBackup(db, 'the disk is full', NOW)
    const failed = [at, 'zonewatch_last_backup_failed 1', size]
    // On PostgreSQL another program makes them, every BACKUP_EVERY.
    expect(await backups({})).toEqual(
      engine === 'sqlite' ? failed : [...failed, 'zonewatch_backup_interval_seconds 86400'],
    )
  })

  test('is counted up to 10,000', async () => {
    const db = await fresh()
    for (let from = 0; from < 12_000; from += 2_000) {
      const rows = Array.from({ length: 2_000 }, (_, index) => due(from + index, NOW))
      await db.insertInto('due_checks').values(rows).execute()
    }
    expect(await readBacklog(db, NOW)).toMatchObject({ due_checks: 10_000, overdue_checks: 0 })
  })

  test('is read from indexes, so that it costs the same with a million monitors', async () => {
    const { db, plansOf } = await givenRecordingDatabase(engine)
    const [read] = await plansOf(() => readBacklog(db, NOW))
    for (const table of ['due_checks', 'due_webhooks', 'due_mails', 'due_alerts', 'due_waits']) {
      expect(read!.plan).not.toMatch(new RegExp(`(SCAN|Seq Scan on) ${table}(?! USING)`))
    }
    expect(read!.plan).toContain('webhooks_in_trouble')
  })

  test('the size of the database is recorded once an hour and deleted after 90 days', async () => {
    const db = await fresh()
    const hour = 3_600_000
    const size = (at: number) => recordSize(db, 'sqlite:/nowhere.db', at)
    if (engine === 'postgres') return expect(await readSizes(db)).toEqual([])
    await size(NOW)
    await size(NOW + 1)
    await size(NOW + 24 * hour)
    expect(await readSizes(db)).toHaveLength(2)
    await size(NOW + 92 * 24 * hour)
    expect(await readSizes(db)).toHaveLength(1)
  })
})
