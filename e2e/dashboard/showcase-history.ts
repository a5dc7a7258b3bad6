import { sql } from 'kysely'
import type { Monitor } from '#contract/monitors.ts'
import type { Database } from '#server/database/database.ts'
import { newId } from '#server/ids.ts'
import type { ShowcaseMonitor } from './showcase-monitors.ts'

const HOUR = 3_600_000

/**
 * Gives the story's monitors their history: what happened in past weeks cannot be made to happen now. The event that the first
 * check just made becomes the last of it.
 */
export async function writeHistory(
  db: Database,
  story: readonly ShowcaseMonitor[],
  made: readonly Monitor[],
): Promise<void> {
  const now = Date.now()
  for (const [at, { past, expected, type }] of story.entries()) {
    const { id } = made[at]!
    const row = await db.selectFrom('monitors').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const results = past ?? [[1_000 + at * 37, 'VALID', expected] as const]
    const latest = await db.selectFrom('events').selectAll().where('monitor_id', '=', id).execute()
    await db.deleteFrom('events').where('monitor_id', '=', id).execute()
    let before: (typeof results)[number] | undefined
    for (const one of results) {
      const occurred = Math.round(now - one[0] * HOUR)
      const isLast = one === results.at(-1)
      await db
        .insertInto('events')
        .values({
          id: newId('evt', occurred),
          organization_id: row.organization_id,
          monitor_id: id,
          group_id: row.group_id,
          occurred_at: occurred,
          old_state: before?.[1] ?? 'UNSET',
          new_state: one[1],
          previous_values: before?.[2] ? JSON.stringify(before[2]) : null,
          current_values: one[2] ? JSON.stringify(one[2]) : null,
          incidence_count: 1,
          domain: row.domain,
          subdomain: row.subdomain,
          record_type: type,
          expected_values: row.expected_values,
          is_exact_match: row.is_exact_match,
          diagnosis: isLast ? (latest[0]?.diagnosis ?? null) : null,
        })
        .execute()
      before = one
    }
    const created = Math.round(now - results[0]![0] * HOUR)
    await sql`update monitors set incidence_count = ${results.length - 1}, created_at = ${created} where id = ${id}`.execute(
      db,
    )
  }
  // The incidents of that time.
  await db.updateTable('due_evaluations').set({ after_event_id: '', due_at: now, claimed_by: null }).execute()
}
