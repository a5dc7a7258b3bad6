import { fieldError } from '#contract/field-errors.ts'
import { MAX_MONITORS_PER_PAGE, WAIT_HOURS, type Wait } from '#contract/setup-pages.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { Keyring } from '../keyring.ts'
import { type FieldErrors, Problem } from '../problem.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { ensurePages, extendPages, type Links, pageUrl } from './setup-pages.ts'

/**
 * Monitors that wait for their expected records. `due_waits` schedules queries to the name servers of the zone, in addition to the
 * regular checks in `due_checks`.
 */

const WAIT_MS = WAIT_HOURS * 60 * 60_000
/** Between two queries of one organization: its waits send at most five in a second. */
export const QUERY_SPACING_MS = 200

/** As the audit log shows it. */
export const waitDeadline = (now: number): string => toIso(now + WAIT_MS)

/** The most that the setting allows. */
export const MAX_WAITING_LIMIT = 10_000

/** `keyring`: encrypts the links. `maxWaiting`: monitors of an organization that wait at the same time. */
export type WaitSettings = { keyring: Keyring; maxWaiting: number }

/** `key`: of the setup page, null for a page of its own. `pageId`: of the page that the monitor already has. `isOpen`: it waits already. */
export type WaitRequest = { monitorId: string; key: string | null; pageId?: string | null; isOpen?: boolean }

/** Starts or restarts waits. Throws a 400, at these `fields` of the request, if too many monitors wait or share a page. */
export async function startWaits(
  db: Database,
  { keyring, maxWaiting }: WaitSettings,
  context: Pick<RequestContext, 'organizationId' | 'now'>,
  waiting: readonly WaitRequest[],
  fields = { until: 'until', setup_page: 'setup_page' },
): Promise<void> {
  if (waiting.length === 0) return
  const { organizationId, now } = context
  const added = waiting.filter(({ isOpen }) => !isOpen).length
  if (added > 0 && (await countOpenWaits(db, organizationId, maxWaiting)) + added > maxWaiting) {
    throw limitReached({ [fields.until]: fieldError('too_many_waiting', { max: maxWaiting }) })
  }
  const needPage = waiting.filter(({ key, pageId }) => key !== null || !pageId)
  const keys = needPage.map(({ key }) => key)
  const pageIds = await ensurePages(db, keyring, context, keys)
  const existingPageIds = waiting.flatMap(({ key, pageId }) => (key === null && pageId ? [pageId] : []))
  await extendPages(db, context, existingPageIds)
  const pages = new Map(needPage.map(({ monitorId }, index) => [monitorId, pageIds[index]!]))
  const rows = waiting.map(({ monitorId, pageId }) => ({
    organization_id: organizationId,
    monitor_id: monitorId,
    page_id: pages.get(monitorId) ?? pageId ?? null,
    started_at: now,
    deadline_at: now + WAIT_MS,
  }))
  const restarted = { ended_at: null, result: null, check_count: 0, seen: null, seen_at: null }
  const dueRows = rows.map(({ organization_id, monitor_id }, index) => ({
    organization_id,
    monitor_id,
    due_at: now + index * QUERY_SPACING_MS,
    claimed_by: null,
  }))
  for (let start = 0; start < rows.length; start += BATCH_SIZE) {
    await db
      .insertInto('waits')
      .values(rows.slice(start, start + BATCH_SIZE))
      .onConflict((conflict) =>
        conflict.columns(['organization_id', 'monitor_id']).doUpdateSet(({ ref }) => ({
          page_id: ref('excluded.page_id'),
          started_at: now,
          deadline_at: now + WAIT_MS,
          ...restarted,
        })),
      )
      .execute()
    await db
      .insertInto('due_waits')
      .values(dueRows.slice(start, start + BATCH_SIZE))
      .onConflict((conflict) =>
        conflict
          .columns(['organization_id', 'monitor_id'])
          .doUpdateSet(({ ref }) => ({ due_at: ref('excluded.due_at'), claimed_by: null })),
      )
      .execute()
  }
  await refuseFullPages(db, organizationId, [...new Set(pageIds)], fields.setup_page)
}

const limitReached = (errors: FieldErrors) =>
  new Problem(400, 'The request is invalid. See errors.', errors, 'limit_reached')

/** Rows of one statement. */
const BATCH_SIZE = 200

/** The monitors of the organization that wait, counted up to the limit. */
export async function countOpenWaits(db: Database, organizationId: string, limit: number): Promise<number> {
  const { count } = await db
    .selectFrom((from) =>
      from
        .selectFrom('waits')
        .select('monitor_id')
        .where('organization_id', '=', organizationId)
        .where('ended_at', 'is', null)
        .limit(limit)
        .as('open'),
    )
    .select((select) => select.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

async function refuseFullPages(db: Database, organizationId: string, ids: readonly string[], field: string) {
  const full = await db
    .selectFrom('waits')
    .select('page_id')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'page_id', ids))
    .groupBy('page_id')
    .having(({ fn }) => fn.countAll(), '>', MAX_MONITORS_PER_PAGE)
    .limit(1)
    .execute()
  if (full.length > 0) throw limitReached({ [field]: fieldError('too_many_on_page', { max: MAX_MONITORS_PER_PAGE }) })
}

/** Causes no event. */
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

/** Discards the last result and a query in progress, which are about the previous expectation, and queries again immediately. */
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

/** The last wait of a monitor, with the key of its page. */
export async function findWait(db: Database, { organizationId }: Tenant, monitorId: string) {
  return await db
    .selectFrom('waits')
    .leftJoin('setup_pages', (join) =>
      join
        .onRef('setup_pages.organization_id', '=', 'waits.organization_id')
        .onRef('setup_pages.id', '=', 'waits.page_id'),
    )
    .select(['waits.page_id', 'waits.deadline_at', 'waits.ended_at', 'waits.result', 'setup_pages.key'])
    .where('waits.organization_id', '=', organizationId)
    .where('waits.monitor_id', '=', monitorId)
    .executeTakeFirst()
}

/** The rows with their waits, for `include=wait`. */
export async function withWaits<T extends { id: string; state: string }>(
  db: Database,
  links: Links,
  { organizationId }: Tenant,
  rows: readonly T[],
): Promise<(T & { wait: Wait | null })[]> {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const waits = await db
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
  const waitsByMonitor = new Map(waits.map((wait) => [wait.monitor_id, wait]))
  return rows.map((row) => {
    const wait = waitsByMonitor.get(row.id)
    if (!wait || wait.result === 'stopped') return { ...row, wait: null }
    const { id, token, expires_at } = wait
    const page =
      id === null || token === null || expires_at === null
        ? null
        : { id, url: pageUrl(links, { id, token }), expires: toIso(expires_at) }
    return {
      ...row,
      wait: {
        // A regular check can find the records a moment before the wait ends.
        state: wait.result ?? (row.state === 'VALID' ? 'valid' : 'waiting'),
        started: toIso(wait.started_at),
        deadline: toIso(wait.deadline_at),
        ended: toIsoOrNull(wait.ended_at),
        setup_page: page,
      },
    }
  })
}
