import { fieldError } from '#contract/field-errors.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { MAX_MONITORS_PER_PAGE, MAX_WAITING, WAIT_HOURS, type Wait } from '#contract/setup-pages.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { isoOf, isoOrNull } from '../http/times.ts'
import { invalid } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { type Inclusion, type MonitorResponseRow, toMonitor } from './monitor.ts'
import { ensurePages, extendPages, type Links, pageUrl } from './setup-pages.ts'

/**
 * Monitors that wait until their expected records are there. `due_waits` says when the zone's name servers are asked again, beside
 * the regular checks, whose places in `due_checks` stay as they are.
 */

const WAIT_MS = WAIT_HOURS * 60 * 60_000
/** Between two questions of one organization: its waits never send more than five in a second. */
export const QUERY_SPACING_MS = 200

/** What `until` adds to the audit log. */
export const waitDeadline = (now: number): string => isoOf(now + WAIT_MS)

/** `key`: of the page, null where the monitor has one for itself; `pageId`: of the page that it has already. */
export type WaitRequest = { monitorId: string; key: string | null; pageId?: string | null }

/**
 * Begins to wait, or starts the wait again. `fields`: the names of the fields that are at fault where too many wait. Throws a 400.
 */
export async function startWaits(
  db: Database,
  seal: Seal,
  context: Pick<RequestContext, 'organizationId' | 'now'>,
  waiting: readonly WaitRequest[],
  fields = { until: 'until', setup_page: 'setup_page' },
): Promise<void> {
  if (waiting.length === 0) return
  const { organizationId, now } = context
  const open = await countOpenWaits(db, organizationId)
  if (open + waiting.length > MAX_WAITING) {
    throw invalid({ [fields.until]: fieldError('too_many_waiting', { max: MAX_WAITING }) })
  }
  const without = waiting.filter(({ key, pageId }) => key !== null || !pageId)
  const made = await ensurePages(
    db,
    seal,
    context,
    without.map(({ key }) => key),
  )
  const kept = waiting.flatMap(({ key, pageId }) => (key === null && pageId ? [pageId] : []))
  await extendPages(db, context, kept)
  const pages = new Map(without.map(({ monitorId }, place) => [monitorId, made[place]!]))
  const rows = waiting.map(({ monitorId, pageId }) => ({
    organization_id: organizationId,
    monitor_id: monitorId,
    page_id: pages.get(monitorId) ?? pageId ?? null,
    started_at: now,
    deadline_at: now + WAIT_MS,
  }))
  const cleared = { ended_at: null, result: null, check_count: 0, seen: null, seen_at: null }
  const due = rows.map(({ organization_id, monitor_id }, place) => ({
    ...{ organization_id, monitor_id, due_at: now + place * QUERY_SPACING_MS, claimed_by: null },
  }))
  for (let from = 0; from < rows.length; from += SLICE) {
    await db
      .insertInto('waits')
      .values(rows.slice(from, from + SLICE))
      .onConflict((conflict) =>
        conflict.columns(['organization_id', 'monitor_id']).doUpdateSet(({ ref }) => ({
          page_id: ref('excluded.page_id'),
          started_at: now,
          deadline_at: now + WAIT_MS,
          ...cleared,
        })),
      )
      .execute()
    await db
      .insertInto('due_waits')
      .values(due.slice(from, from + SLICE))
      .onConflict((conflict) =>
        conflict
          .columns(['organization_id', 'monitor_id'])
          .doUpdateSet(({ ref }) => ({ due_at: ref('excluded.due_at'), claimed_by: null })),
      )
      .execute()
  }
  await refuseCrowdedPages(db, organizationId, [...new Set(made)], fields.setup_page)
}

const SLICE = 200

/** How many of the organization wait, up to the limit. */
export async function countOpenWaits(db: Database, organizationId: string): Promise<number> {
  const { count } = await db
    .selectFrom((from) =>
      from
        .selectFrom('waits')
        .select('monitor_id')
        .where('organization_id', '=', organizationId)
        .where('ended_at', 'is', null)
        .limit(MAX_WAITING)
        .as('open'),
    )
    .select((select) => select.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

async function refuseCrowdedPages(db: Database, organizationId: string, ids: readonly string[], field: string) {
  const crowded = await db
    .selectFrom('waits')
    .select('page_id')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'page_id', ids))
    .groupBy('page_id')
    .having(({ fn }) => fn.countAll(), '>', MAX_MONITORS_PER_PAGE)
    .limit(1)
    .execute()
  if (crowded.length > 0) throw invalid({ [field]: fieldError('too_many_on_page', { max: MAX_MONITORS_PER_PAGE }) })
}

/** Stops to wait; without an event. */
export async function stopWait(
  db: Database,
  { organizationId, now }: Pick<RequestContext, 'organizationId' | 'now'>,
  monitorId: string,
): Promise<void> {
  await db
    .updateTable('waits')
    .set({ ended_at: now, result: 'stopped' })
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', monitorId)
    .where('ended_at', 'is', null)
    .execute()
  await db
    .deleteFrom('due_waits')
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', monitorId)
    .execute()
}

/** What was seen answers another question now, and so does a look that is in progress: there is another one at once. */
export async function restartWaits(
  db: Database,
  organizationId: string,
  monitorIds: readonly string[],
  now: number,
): Promise<void> {
  if (monitorIds.length === 0) return
  await db
    .updateTable('waits')
    .set({ seen: null, seen_at: null })
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', monitorIds))
    .execute()
  await db
    .updateTable('due_waits')
    .set({ due_at: now, claimed_by: null })
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', monitorIds))
    .execute()
}

/** The last wait of a monitor; undefined where there was none. */
export async function findWait(db: Database, { organizationId }: Tenant, monitorId: string) {
  return await db
    .selectFrom('waits')
    .select(['page_id', 'deadline_at', 'ended_at'])
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', monitorId)
    .executeTakeFirst()
}

/** The rows with what `include=wait` shows. */
export async function withWaits<T extends { id: string; state: string }>(
  db: Database,
  links: Links,
  { organizationId }: Tenant,
  rows: readonly T[],
): Promise<(T & { wait: Wait | null })[]> {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const found = await db
    .selectFrom('waits')
    .leftJoin('setup_pages', (join) =>
      join
        .onRef('setup_pages.organization_id', '=', 'waits.organization_id')
        .onRef('setup_pages.id', '=', 'waits.page_id'),
    )
    .select(['waits.monitor_id', 'waits.started_at', 'waits.deadline_at', 'waits.ended_at', 'waits.result'])
    .select(['setup_pages.id', 'setup_pages.token', 'setup_pages.expires_at'])
    .where('waits.organization_id', '=', organizationId)
    .where(isOneOf(db, 'waits.monitor_id', ids))
    .execute()
  const waits = new Map(found.map((wait) => [wait.monitor_id, wait]))
  return rows.map((row) => {
    const wait = waits.get(row.id)
    if (!wait || wait.result === 'stopped') return { ...row, wait: null }
    const { id, token, expires_at } = wait
    const page =
      id === null || token === null || expires_at === null
        ? null
        : { id, url: pageUrl(links, { id, token }), expires: isoOf(expires_at) }
    // The regular check has found it; the wait itself ends a moment later.
    const isValid = wait.result === 'valid' || (wait.result === null && row.state === 'VALID')
    return {
      ...row,
      wait: {
        state: wait.result ?? (isValid ? 'valid' : 'waiting'),
        started: isoOf(wait.started_at),
        deadline: isoOf(wait.deadline_at),
        ended: isoOrNull(wait.ended_at),
        setup_page: page,
      },
    }
  })
}

/** A representation. `hasWait`: what the caller asked for with `until` is in the answer. */
export async function monitorResponse(
  db: Database,
  links: Links,
  tenant: Tenant,
  row: MonitorResponseRow,
  included: Inclusion,
  hasWait = false,
): Promise<MonitorResponse> {
  const [shown] = included.wait || hasWait ? await withWaits(db, links, tenant, [row]) : [row]
  return toMonitor(shown!, included)
}
