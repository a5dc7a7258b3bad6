import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { nextDueAt } from '../../monitors/schedule.ts'
import { newDatabaseUrl, onBothEngines } from '../../testing/database.ts'
import { openDatabase } from '../database.ts'
import { migrate } from '../migrate.ts'

const NOW = 1_700_000_000_000
const LAST_SLOT = 2 ** 31 - 1
/** The first two, and the last two, have one place, as two monitors in some billions had. */
const SLOTS = { mon_1: 7, mon_2: 7, mon_3: 7, mon_4: 0, mon_5: 123_456_789, mon_6: LAST_SLOT, mon_7: LAST_SLOT }

onBothEngines('a database from before slots were unique', (_fresh, engine) => {
  test('keeps every monitor at its place in the schedule, each with a slot of its own', async () => {
    const { url, drop } = await newDatabaseUrl(engine)
    const db = openDatabase(url)
    onTestFinished(async () => {
      await db.destroy()
      await drop()
    })
    await migrate(db, 0, 6)
    await sql`insert into organizations (id, created_at, name, slug) values ('org_1', 1, 'Acme', 'acme')`.execute(db)
    await sql`insert into groups (id, organization_id, created_at, name, slug, is_default)
      values ('grp_1', 'org_1', 1, 'Default', 'default', 1)`.execute(db)
    for (const [id, slot] of Object.entries(SLOTS)) {
      await sql`insert into monitors (id, organization_id, group_id, created_at, domain, subdomain, owner, record_type,
          expected_values, is_exact_match, is_active, notify, frequency, state, slot)
        values (${id}, 'org_1', 'grp_1', 1, 'example.com', '', 'example.com', 'A', '[]', 1, 1, 'immediately', 5, 'VALID', ${slot})`.execute(
        db,
      )
      await sql`insert into due_checks (slot, monitor_id, organization_id, due_at, claimed_by, owner, record_type,
          is_exact_match, frequency, fingerprint, streak, doubts, last_checked_at)
        values (${slot}, ${id}, 'org_1', ${NOW}, 3, 'example.com', 'A', 1, 5, ${2 ** 50}, 4, 1, ${NOW - 1})`.execute(db)
    }

    expect(await migrate(db, 0)).toContain('places by number')

    const places = await db.selectFrom('due_checks').selectAll().orderBy('monitor_id').execute()
    expect(places.map(({ monitor_id }) => monitor_id)).toEqual(Object.keys(SLOTS))
    expect(new Set(places.map(({ slot }) => slot)).size).toBe(places.length)
    for (const { slot, monitor_id, ...rest } of places) {
      const before = SLOTS[monitor_id as keyof typeof SLOTS]
      expect(nextDueAt(NOW, { slot, frequency: 120 })).toBe(placeBefore(before, 120))
      expect(rest).toEqual({
        organization_id: 'org_1',
        due_at: NOW,
        claimed_by: 3,
        owner: 'example.com',
        record_type: 'A',
        is_exact_match: 1,
        frequency: 5,
        fingerprint: 2 ** 50,
        streak: 4,
        doubts: 1,
        postponed_since: null,
        last_checked_at: NOW - 1,
      })
    }
    const monitors = await db.selectFrom('monitors').select(['id as monitor_id', 'slot']).orderBy('id').execute()
    expect(monitors).toEqual(places.map(({ monitor_id, slot }) => ({ monitor_id, slot })))
  })
})

/** As it was computed when there were 2^31 places. */
function placeBefore(slot: number, frequency: number): number {
  const intervalMs = frequency * 60_000
  const place = Math.floor((slot / 2 ** 31) * intervalMs)
  return (Math.floor((NOW - place) / intervalMs) + 1) * intervalMs + place
}
