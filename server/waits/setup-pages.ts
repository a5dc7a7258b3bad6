import { hash, randomBytes } from 'node:crypto'
import type { Selectable } from 'kysely'
import { SETUP_PAGE_DAYS, type SetupPage, type SetupPageQuery } from '#contract/setup-pages.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { listPage, type Page } from '../database/pagination.ts'
import type { SetupPagesTable } from '../database/schema-setup.ts'
import { deleteTenantRow, getTenantRow, updateTenantRow } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { notFound } from '../problem.ts'
import { toIso } from '../times.ts'

/**
 * Public pages that show a customer which records to create. Anyone with the link sees the page. The token in it has 256 random bits.
 * The database finds it by its hash, and stores it encrypted, so that members can copy the link again.
 */

/** What the links are built from. */
export type Links = { keyring: Keyring; baseUrl: string }
type PageRow = Selectable<SetupPagesTable>

const PAGE_MS = SETUP_PAGE_DAYS * 24 * 60 * 60_000

export const pageTokenContext = (pageId: string): string => `setup page ${pageId}`
const hashOfPageToken = (token: string): string => hash('sha256', token, 'hex')

export function pageUrl({ keyring, baseUrl }: Links, { id, token }: Pick<PageRow, 'id' | 'token'>): string {
  return `${baseUrl}/connect/${keyring.decrypt(token, pageTokenContext(id))}`
}

/** Creates a page for each key, or extends the existing one; null is a page for one monitor. Returns the ids in the order of the keys. */
export async function ensurePages(
  db: Database,
  keyring: Keyring,
  { organizationId, now }: Pick<RequestContext, 'organizationId' | 'now'>,
  keys: readonly (string | null)[],
): Promise<string[]> {
  if (keys.length === 0) return []
  const named = [...new Set(keys.filter((key) => key !== null))].sort()
  const rows = [...named, ...keys.filter((key) => key === null)].map((key) => {
    const id = newId('stp', now)
    return { organization_id: organizationId, id, created_at: now, key, ...newLink(keyring, id, now) }
  })
  const pages = await db
    .insertInto('setup_pages')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['organization_id', 'key']).doUpdateSet({ expires_at: now + PAGE_MS }))
    .returning(['id', 'key'])
    .execute()
  const byKey = new Map(pages.map(({ id, key }) => [key, id]))
  const withoutKey = pages.filter(({ key }) => key === null).map(({ id }) => id)
  return keys.map((key) => (key === null ? withoutKey.pop()! : byKey.get(key)!))
}

/** The links stay valid for another full period. */
export async function extendPages(
  db: Database,
  { organizationId, now }: Pick<RequestContext, 'organizationId' | 'now'>,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  await db
    .updateTable('setup_pages')
    .set({ expires_at: now + PAGE_MS })
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .execute()
}

function newLink(keyring: Keyring, id: string, now: number) {
  const token = randomBytes(32).toString('base64url')
  return {
    token_hash: hashOfPageToken(token),
    token: keyring.encrypt(token, pageTokenContext(id)),
    expires_at: now + PAGE_MS,
  }
}

export async function listSetupPages(
  db: Database,
  links: Links,
  { organizationId }: Tenant,
  query: SetupPageQuery,
): Promise<Page<SetupPage>> {
  let rows = db
    .selectFrom('setup_pages')
    .selectAll('setup_pages')
    .where('setup_pages.organization_id', '=', organizationId)
  if (query.key !== undefined) rows = rows.where('setup_pages.key', '=', query.key)
  const page = await listPage<PageRow>(rows, {
    keyring: links.keyring,
    query,
    id: 'setup_pages.id',
    orders: { created: { column: 'setup_pages.id' } },
    scope: ['setup pages', organizationId, query.key],
  })
  return { ...page, data: await toSetupPages(db, links, page.data) }
}

/** Throws `not_found`, also for a page of another organization. */
export async function getSetupPage(db: Database, links: Links, tenant: Tenant, id: string): Promise<SetupPage> {
  const [page] = await toSetupPages(db, links, [await getTenantRow(db, 'setup_pages', tenant, id)])
  return page!
}

async function toSetupPages(db: Database, links: Links, rows: readonly PageRow[]): Promise<SetupPage[]> {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const monitors = await db
    .selectFrom('waits')
    .innerJoin('monitors', 'monitors.id', 'waits.monitor_id')
    .select(['waits.page_id', 'waits.monitor_id', 'monitors.state'])
    .where('waits.organization_id', '=', rows[0]!.organization_id)
    .where('monitors.organization_id', '=', rows[0]!.organization_id)
    .where(isOneOf(db, 'waits.page_id', ids))
    .orderBy('waits.monitor_id')
    .execute()
  const monitorsOf = (id: string) => monitors.filter(({ page_id }) => page_id === id)
  return rows.map((row) =>
    withVersion(
      {
        id: row.id,
        created: toIso(row.created_at),
        key: row.key,
        url: pageUrl(links, row),
        expires: toIso(row.expires_at),
        monitors: monitorsOf(row.id).map(({ monitor_id }) => monitor_id),
        is_done: monitorsOf(row.id).every(({ state }) => state === 'VALID'),
      },
      row.version,
    ),
  )
}

/** Replaces the link; the previous one stops working. Throws `not_found`. */
export async function renewSetupPage(
  db: Database,
  keyring: Keyring,
  context: RequestContext,
  id: string,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'setup_pages', context, id, forUpdate(transaction))
    const link = newLink(keyring, id, context.now)
    await updateTenantRow(transaction, 'setup_pages', context, id, { ...link, ...nextVersion })
    await recordAudit(transaction, context, { action: 'setup_page.renewed', object: objectOf(row) })
  })
}

/** Revokes the link. The monitors stay and continue to wait. Throws `not_found` and 412. */
export async function deleteSetupPage(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  const { organizationId } = context
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'setup_pages', context, id, forUpdate(transaction))
    refuseStale(row, match)
    await transaction
      .updateTable('waits')
      .set({ page_id: null })
      .where('organization_id', '=', organizationId)
      .where('page_id', '=', id)
      .execute()
    await deleteTenantRow(transaction, 'setup_pages', context, id)
    const before = { key: row.key, expires: toIso(row.expires_at) }
    await recordAudit(transaction, context, { action: 'setup_page.deleted', object: objectOf(row), before })
  })
}

const objectOf = ({ id, key }: PageRow) => ({ id, label: key ?? id })

/** By the id of the monitor: its page, and whether all monitors of that are VALID. */
export async function describePages(
  db: Database,
  { organizationId }: Tenant,
  monitorIds: readonly string[],
): Promise<Map<string, { id: string; key: string | null; is_done: boolean }>> {
  const pages = await db
    .selectFrom('monitors')
    .innerJoin('waits', (join) =>
      join
        .onRef('waits.organization_id', '=', 'monitors.organization_id')
        .onRef('waits.monitor_id', '=', 'monitors.id'),
    )
    .innerJoin('setup_pages', (join) =>
      join
        .onRef('setup_pages.organization_id', '=', 'waits.organization_id')
        .onRef('setup_pages.id', '=', 'waits.page_id'),
    )
    .select(['waits.monitor_id', 'setup_pages.id', 'setup_pages.key'])
    .where('monitors.organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitors.id', monitorIds))
    .execute()
  if (pages.length === 0) return new Map()
  const unfinished = await db
    .selectFrom('waits')
    .innerJoin('monitors', (join) =>
      join
        .onRef('monitors.organization_id', '=', 'waits.organization_id')
        .onRef('monitors.id', '=', 'waits.monitor_id'),
    )
    .select('waits.page_id')
    .distinct()
    .where('waits.organization_id', '=', organizationId)
    .where(isOneOf(db, 'waits.page_id', [...new Set(pages.map(({ id }) => id))]))
    .where('monitors.state', '<>', 'VALID')
    .execute()
  const unfinishedIds = new Set(unfinished.map(({ page_id }) => page_id))
  return new Map(pages.map(({ monitor_id, id, key }) => [monitor_id, { id, key, is_done: !unfinishedIds.has(id) }]))
}

/** The pages of these monitors. */
export async function pageIdsOf(
  db: Database,
  { organizationId }: Tenant,
  monitorIds: readonly string[],
): Promise<string[]> {
  const rows = await db
    .selectFrom('waits')
    .select('page_id')
    .distinct()
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', monitorIds))
    .where('page_id', 'is not', null)
    .execute()
  return rows.map(({ page_id }) => page_id!)
}

/** Deletes the pages that have no monitor left. */
export async function deleteEmptyPages(
  db: Database,
  { organizationId }: Tenant,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  await db
    .deleteFrom('setup_pages')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('waits')
            .select('waits.monitor_id')
            .where('waits.organization_id', '=', organizationId)
            .whereRef('waits.page_id', '=', 'setup_pages.id'),
        ),
      ),
    )
    .execute()
}

/** Throws `not_found` if the link is unknown, revoked or expired. */
export async function getPageByToken(db: Database, token: string, now: number) {
  const page = await db
    .selectFrom('setup_pages')
    .innerJoin('organizations', 'organizations.id', 'setup_pages.organization_id')
    .select([
      'setup_pages.organization_id',
      'setup_pages.id',
      'organizations.name as organization',
      'organizations.logo',
    ])
    .where('setup_pages.token_hash', '=', hashOfPageToken(token))
    .where('setup_pages.expires_at', '>', now)
    .executeTakeFirst()
  if (!page) throw notFound()
  return page
}
