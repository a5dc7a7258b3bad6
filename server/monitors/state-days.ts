import type { MonitorState } from '#contract/monitors.ts'
import { insertEachNew, isOneOf, updateEach } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { DAY_MS } from '../times.ts'
import type { MonitorRow } from './monitor.ts'

/**
 * How long a monitor was in each state. A row is a day (UTC) on which the state changed, and holds the spans of that day until its last
 * change. What follows, until the next row or until now, is the state with which the next row begins, or that of the monitor. So a change
 * writes one row, whatever the length of the state before it, a check without a change writes nothing, and the oldest rows can be deleted.
 */

/** Of null nothing is known: before the monitor was created or restored. */
export type Span = [state: MonitorState | null, ms: number]

/** `monitor`: as it was before, locked. */
export type StateChange = {
  monitor: Pick<MonitorRow, 'id' | 'organization_id' | 'state' | 'created_at'>
  /** When the state changed. */
  at: number
}

/** The first instant of the day. */
export const dayOf = (instant: number): number => instant - (instant % DAY_MS)

/** In the transaction that changes the states. Each monitor at most once. */
export async function recordStateChanges(db: Database, changes: readonly StateChange[]): Promise<void> {
  for (const [organizationId, ofTenant] of Map.groupBy(changes, ({ monitor }) => monitor.organization_id))
    await recordOfTenant(db, organizationId, ofTenant)
}

async function recordOfTenant(db: Database, organization_id: string, changes: readonly StateChange[]): Promise<void> {
  const monitorIds = changes.map(({ monitor }) => monitor.id)
  const days = [...new Set(changes.map(({ at }) => dayOf(at)))]
  const stored = await db
    .selectFrom('state_days')
    .select(['monitor_id', 'day', 'spans'])
    .where('organization_id', '=', organization_id)
    .where(isOneOf(db, 'monitor_id', monitorIds))
    .where(isOneOf(db, 'day', days, 'bigint'))
    .execute()
  const spansOf = new Map(stored.map(({ monitor_id, day, spans }) => [`${monitor_id} ${day}`, spans]))
  const rows = changes.map(({ monitor: { id, state, created_at }, at }) => {
    const day = dayOf(at)
    const before = spansOf.get(`${id} ${day}`)
    const change = { day, at, state: state as MonitorState, createdAt: created_at }
    const spans = JSON.stringify(addSpan(before === undefined ? [] : JSON.parse(before), change))
    return { organization_id, monitor_id: id, day, spans, isNew: before === undefined }
  })
  const [added, continued] = [rows.filter(({ isNew }) => isNew), rows.filter(({ isNew }) => !isNew)]
  await updateEach(
    db,
    {
      table: 'state_days',
      key: { organization_id: 'text', monitor_id: 'text', day: 'bigint' },
      set: { spans: 'text' },
    },
    continued.map((row) => ({ ...row, new_spans: row.spans })),
  )
  await insertRows(db, added)
}

/** After monitors were restored whose history was deleted: of the time until now nothing is known. In that transaction. */
export async function forgetStates(
  db: Database,
  monitors: readonly Pick<MonitorRow, 'id' | 'organization_id'>[],
  now: number,
): Promise<void> {
  const day = dayOf(now)
  const spans = JSON.stringify([[null, now - day] satisfies Span])
  await insertRows(
    db,
    monitors.map(({ id, organization_id }) => ({ organization_id, monitor_id: id, day, spans })),
  )
}

type Row = { organization_id: string; monitor_id: string; day: number; spans: string }
const COLUMNS = { organization_id: 'text', monitor_id: 'text', day: 'bigint', spans: 'text' } as const

const insertRows = (db: Database, rows: readonly Row[]) =>
  insertEachNew(db, { table: 'state_days', columns: COLUMNS, key: ['organization_id', 'monitor_id', 'day'] }, rows)

/** Spans of one day. With more, the older half loses its order, but not its sums: somebody may edit a monitor all day. */
const MAX_SPANS = 200

/** The spans of a day with the one that ends now, in which the monitor was in `state`. Pure. */
export function addSpan(
  spans: readonly Span[],
  { day, at, state, createdAt }: { day: number; at: number; state: MonitorState; createdAt: number },
): Span[] {
  const known: Span[] = spans.length === 0 && createdAt > day ? [[null, Math.min(createdAt, at) - day]] : [...spans]
  // After the clock was set back, a span has no length.
  const ms = Math.max(0, at - day - lengthOf(known))
  const last = known.at(-1)
  if (last?.[0] === state) known[known.length - 1] = [state, last[1] + ms]
  else if (ms > 0 || known.length === 0) known.push([state, ms])
  return known.length > MAX_SPANS
    ? [...sumByState(known.slice(0, MAX_SPANS / 2)), ...known.slice(MAX_SPANS / 2)]
    : known
}

export const lengthOf = (spans: readonly Span[]): number => spans.reduce((sum, [, ms]) => sum + ms, 0)

/** The first state stays the first. */
function sumByState(spans: readonly Span[]): Span[] {
  const sums = new Map<Span[0], number>()
  for (const [state, ms] of spans) sums.set(state, (sums.get(state) ?? 0) + ms)
  return [...sums]
}
