import { sql } from 'kysely'
import type { PlannedChangeCounts } from '#contract/planned-changes.ts'
import type { Tenant } from '../context.ts'
import { insertEach, isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { nextVersion } from '../database/versions.ts'
import { newId } from '../ids.ts'
import type { MonitorRow } from '../monitors/monitor.ts'
import { schedulePlannedChanges } from '../monitors/schedule.ts'
import { addToIncidents } from './incident-entries.ts'

/** The changes that a job plans or cancels: many monitors with one period. */

/** Of these monitors, those with an open change. */
export async function monitorsWithOpenChange(
  db: Database,
  { organizationId }: Tenant,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('planned_changes')
    .select('monitor_id')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', ids))
    .where('outcome', 'is', null)
    .execute()
  return new Set(rows.map(({ monitor_id }) => monitor_id))
}

type Plan = { row: MonitorRow; newValues: string; checkAt: number }
type Period = { jobId: string; createdBy: string; from: number; to: number; now: number }

/** The monitors are locked and have no open change. */
export async function insertChanges(
  db: Database,
  { organizationId }: Tenant,
  plans: readonly Plan[],
  { jobId, createdBy, from, to, now }: Period,
): Promise<void> {
  const changes = plans.map(({ row, newValues }) => ({
    ...{ organization_id: organizationId, id: newId('pch', now), created_at: now, created_by: createdBy },
    ...{ monitor_id: row.id, job_id: jobId, from_at: from, to_at: to },
    ...{ old_values: row.expected_values, new_values: newValues },
  }))
  await insertEach(db, 'planned_changes', COLUMNS, changes)
  const monitorIds = plans.map(({ row }) => row.id)
  await addToIncidents(db, organizationId, monitorIds, { createdBy, to, now })
  const schedules = plans.map(({ row, checkAt }, index) => ({
    row,
    changeId: changes[index]!.id,
    checkAt: from <= now ? checkAt : null,
  }))
  await schedulePlannedChanges(db, schedules, now)
}

const COLUMNS = {
  organization_id: 'text',
  id: 'text',
  created_at: 'bigint',
  created_by: 'text',
  monitor_id: 'text',
  job_id: 'text',
  old_values: 'text',
  new_values: 'text',
  from_at: 'bigint',
  to_at: 'bigint',
} as const

/** Cancels the open changes of monitors that are locked: they expect the old values again. */
export async function cancelChanges(
  db: Database,
  { organizationId }: Tenant,
  plans: readonly Pick<Plan, 'row' | 'checkAt'>[],
  now: number,
): Promise<void> {
  const ids = plans.map(({ row }) => row.id)
  await db
    .updateTable('planned_changes')
    .set({ outcome: 'CANCELED', closed_at: now, ...nextVersion })
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', ids))
    .where('outcome', 'is', null)
    .execute()
  await schedulePlannedChanges(
    db,
    plans.map((plan) => ({ ...plan, changeId: null })),
    now,
  )
}

/** By state, of one job or of all. */
export async function countChanges(
  db: Database,
  { organizationId, now }: Tenant & { now: number },
  jobId: string | undefined,
): Promise<PlannedChangeCounts> {
  const state = sql<keyof typeof NONE>`case when outcome is not null then lower(outcome)
    when from_at > ${now} then 'scheduled' else 'in_progress' end`
  const rows = await db
    .selectFrom('planned_changes')
    .select(({ fn }) => [state.as('state'), fn.countAll<number>().as('count')])
    .where('organization_id', '=', organizationId)
    .$if(jobId !== undefined, (all) => all.where('job_id', '=', jobId!))
    .groupBy(sql`1`)
    .execute()
  const counts = { ...NONE, ...Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)])) }
  return { total: Object.values(counts).reduce((sum, count) => sum + count, 0), ...counts }
}

const NONE = { scheduled: 0, in_progress: 0, done: 0, not_arrived: 0, canceled: 0 }
