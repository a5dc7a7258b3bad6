import { sql } from 'kysely'
import type { Monitor } from '#contract/monitors.ts'
import type { Database } from '#server/database/database.ts'
import { newId } from '#server/ids.ts'
import { recordStateChanges } from '#server/monitors/state-days.ts'
import type { ShowcaseMonitor } from './showcase-monitors.ts'

const HOUR = 3_600_000

/**
 * Replaces the events of the showcase monitors by a history of weeks. The event of the first check becomes the last one of
 * the history.
 */
export async function writeHistory(
  db: Database,
  showcaseMonitors: readonly ShowcaseMonitor[],
  created: readonly Monitor[],
): Promise<void> {
  const now = Date.now()
  for (const [index, { past, expected, type }] of showcaseMonitors.entries()) {
    const { id } = created[index]!
    const row = await db.selectFrom('monitors').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const results = past ?? [[1_000 + index * 37, 'VALID', expected] as const]
    const latest = await db.selectFrom('events').selectAll().where('monitor_id', '=', id).execute()
    await db.deleteFrom('events').where('monitor_id', '=', id).execute()
    await db.deleteFrom('state_days').where('monitor_id', '=', id).execute()
    const createdAt = Math.round(now - results[0]![0] * HOUR)
    let previous: (typeof results)[number] | undefined
    for (const result of results) {
      const occurred = Math.round(now - result[0] * HOUR)
      const isLast = result === results.at(-1)
      await db
        .insertInto('events')
        .values({
          id: newId('evt', occurred),
          organization_id: row.organization_id,
          monitor_id: id,
          group_id: row.group_id,
          occurred_at: occurred,
          old_state: previous?.[1] ?? 'UNSET',
          new_state: result[1],
          previous_values: previous?.[2] ? JSON.stringify(previous[2]) : null,
          current_values: result[2] ? JSON.stringify(result[2]) : null,
          incidence_count: 1,
          domain: row.domain,
          subdomain: row.subdomain,
          record_type: type,
          expected_values: row.expected_values,
          is_exact_match: row.is_exact_match,
          diagnosis: isLast ? (latest[0]?.diagnosis ?? null) : null,
        })
        .execute()
      const monitor = { ...row, state: previous?.[1] ?? 'UNSET', created_at: createdAt }
      await recordStateChanges(db, [{ monitor, at: occurred }])
      previous = result
    }
    await sql`update monitors set incidence_count = ${results.length - 1}, created_at = ${createdAt} where id = ${id}`.execute(
      db,
    )
  }
  await sql`update migrations set applied_at = 0 where name = 'state days'`.execute(db)
  // Creates the incidents of these events.
  await db.updateTable('due_evaluations').set({ after_event_id: '', due_at: now, claimed_by: null }).execute()
}
