import type { Selectable } from 'kysely'
import type { Database } from '../database/database.ts'
import type { MaintenanceWindowsTable } from '../database/schema-alerts.ts'
import { type Expansion, expandSchedule, type Schedule } from './maintenance.ts'

type WindowRow = Selectable<MaintenanceWindowsTable>
type ScheduleColumns = Pick<WindowRow, 'from_at' | 'to_at' | 'rrule' | 'timezone'>

/** As JSON in `expansion`. `of`: the schedule, because the version before this column changes schedules without it. */
type StoredExpansion = Expansion & { of: string; at: number }

/** Of a daily window, those of more than two weeks. */
const MAX_STORED = 20
/** With fewer left, the next ones are computed. */
const MIN_LEFT = 4

/** What an alert and a response need: the current occurrence and the next ones. Computed only if the stored ones are not enough. */
export function expansionOf(row: WindowRow, now: number): Expansion {
  if (row.last_end_at !== null && row.last_end_at <= now) return { occurrences: [], isComplete: true }
  return storedExpansion(row, now) ?? expandSchedule(scheduleOf(row), now, MIN_LEFT)
}

/** The columns to store when a schedule is saved. */
export function newExpansion(columns: ScheduleColumns, now: number): Pick<WindowRow, 'expansion' | 'last_end_at'> {
  const schedule = scheduleOf(columns)
  const expansion = expandSchedule(schedule, now, MAX_STORED)
  const stored: StoredExpansion = { of: textOf(columns), at: now, ...expansion }
  const last_end_at = expansion.isComplete ? (expansion.occurrences.at(-1)?.to ?? schedule.from) : null
  return { expansion: JSON.stringify(stored), last_end_at }
}

/** Undefined if too few occurrences are left, the schedule was changed, or the clock was set back. */
function storedExpansion(row: WindowRow, now: number): Expansion | undefined {
  if (row.expansion === null) return undefined
  const { of, at, isComplete, occurrences }: StoredExpansion = JSON.parse(row.expansion)
  if (of !== textOf(row) || (now < at && row.rrule !== null)) return undefined
  const left = occurrences.filter(({ to }) => to > now)
  const isEnough = isComplete || left.length >= Math.min(MIN_LEFT, occurrences.length)
  return isEnough ? { occurrences: left, isComplete } : undefined
}

/**
 * Computes the next occurrences of the organization's windows that need it, outside of a transaction. Windows that an earlier version
 * stored have none.
 */
export async function renewExpansions(db: Database, organizationId: string, now: number): Promise<void> {
  const rows = await db
    .selectFrom('maintenance_windows')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('rrule', 'is not', null)
    .where(({ or, eb }) => or([eb('last_end_at', 'is', null), eb('last_end_at', '>', now)]))
    .execute()
  for (const row of rows.filter((row) => storedExpansion(row, now) === undefined)) {
    await db
      .updateTable('maintenance_windows')
      .set(newExpansion(row, now))
      .where('organization_id', '=', organizationId)
      .where('id', '=', row.id)
      .where('version', '=', row.version)
      .execute()
  }
}

const scheduleOf = ({ from_at, to_at, rrule, timezone }: ScheduleColumns): Schedule => ({
  from: from_at,
  to: to_at,
  rrule,
  timezone,
})

const textOf = ({ from_at, to_at, rrule, timezone }: ScheduleColumns): string =>
  [from_at, to_at, rrule, timezone].join(' ')
