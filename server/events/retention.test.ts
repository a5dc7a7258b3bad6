import { expect, test } from 'vitest'
import { recordAudit } from '../audit-log.ts'
import { systemClock } from '../clock.ts'
import { systemContext } from '../context.ts'
import { lowestIdAt } from '../ids.ts'
import { SELF_HOSTED } from '../plan.ts'
import { givenChecks } from '../testing/checks.ts'
import { onBothEngines } from '../testing/database.ts'
import { deleteOldEvents } from './retention.ts'

const DAY_MS = 24 * 60 * 60_000
const now = Date.UTC(2026, 10, 21)

onBothEngines('events that an organization keeps no longer', (fresh) => {
  test('are removed in batches, and only those; a check is recorded between two of them; without a wish nothing is', async () => {
    const db = await fresh()
    const { set, monitor, check, organizationId } = await givenChecks(db)
    set('www.example.com', 'A', ['192.0.2.1'])
    await monitor({ record_type: 'A', expected_value: '192.0.2.1' })
    await check()
    const [event] = await db.selectFrom('events').selectAll().execute()
    let number = 0
    const aged = (days: number) => {
      const occurredAt = now - days * DAY_MS
      return {
        ...event!,
        id: `${lowestIdAt('evt', occurredAt)}${String(number++).padStart(16, '0')}`,
        occurred_at: occurredAt,
      }
    }
    const rows = [...Array.from({ length: 450 }, () => aged(31)), aged(30), aged(29), aged(1)]
    const kept = async () => (await db.selectFrom('events').select('id').execute()).length
    await db.deleteFrom('events').execute()
    for (let from = 0; from < rows.length; from += 100)
      await db
        .insertInto('events')
        .values(rows.slice(from, from + 100))
        .execute()

    const pauses: { ms: number; kept: number }[] = []
    // In each pause a check is due, finds another value and records it.
    const sleep = async (ms: number) => {
      pauses.push({ ms, kept: await kept() })
      set('www.example.com', 'A', [`192.0.2.${pauses.length + 1}`])
      await check()
    }
    const clock = { ...systemClock, now: () => now, sleep }
    const sweep = () => deleteOldEvents({ db, clock, config: { plans: SELF_HOSTED } }, new AbortController().signal)
    await sweep()
    expect(await kept()).toBe(453)
    await db.updateTable('organizations').set({ event_retention_days: 30 }).where('id', '=', organizationId).execute()
    await sweep()
    // 200, 200 and 50 deleted, and an event recorded after each of the first two.
    expect(pauses).toEqual([
      { ms: 20, kept: 253 },
      { ms: 20, kept: 54 },
    ])
    expect(await kept()).toBe(5)
  })

  test('are deleted with the entries of the audit log of that time', async () => {
    const db = await fresh()
    const { organizationId } = await givenChecks(db)
    const clock = { ...systemClock, now: () => now, sleep: async () => {} }
    const deps = { db, clock, config: { plans: SELF_HOSTED } }
    await db.deleteFrom('audit_log').execute()
    for (const days of [...Array(410).fill(31), 29, 1]) {
      const context = systemContext(organizationId, now - days * DAY_MS)
      await recordAudit(db, context, { action: 'group.created', object: { label: `${days}` } })
    }
    const kept = async () =>
      (await db.selectFrom('audit_log').select('object_label').orderBy('id').execute()).map(
        ({ object_label }) => object_label,
      )
    await deleteOldEvents(deps, new AbortController().signal)
    expect(await kept()).toHaveLength(412)
    await db.updateTable('organizations').set({ event_retention_days: 30 }).where('id', '=', organizationId).execute()
    await deleteOldEvents(deps, new AbortController().signal)
    expect(await kept()).toEqual(['29', '1'])
  })
})
