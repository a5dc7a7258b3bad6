import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import { systemContext } from '../context.ts'
import { DELETE_BATCH_SIZE } from '../database/batches.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { readSchema, type TableSchema } from '../database/table-schema.ts'
import { countDeletable, deleteMonitors } from '../monitors/delete.ts'
import { MINUTE_MS } from '../times.ts'
import { deleteWebhook } from '../webhooks/webhook-store.ts'
import { isRenewed } from './organization-deletion.ts'

type DeletionDeps = { db: Database; clock: Clock; log: Logger }

/** After each batch, so that others can use the database. */
const PAUSE_MS = 20
/**
 * Requests, checks and deliveries in progress can still write rows. So the organization itself is deleted when nothing was found for this
 * long, which is more than a lease and than the requests of a deleted webhook take.
 */
export const QUIET_MS = 10 * MINUTE_MS

/** Deletes the organizations whose deletion is due, in small batches, until `stop`. Can be interrupted and run again, on several nodes too. */
export async function deleteDueOrganizations(deps: DeletionDeps, stop: AbortSignal): Promise<void> {
  const { db, clock } = deps
  const due = await db
    .selectFrom('organizations')
    .select(['id', 'name'])
    .where('deletion_at', '<=', clock.now())
    .orderBy('deletion_at')
    .limit(100)
    .execute()
  const tables = due.length > 0 ? await readSchema(db) : []
  for (const organization of due) {
    if (stop.aborted) return
    try {
      await deleteOrganization(deps, organization, tables, stop)
    } catch (err) {
      // The others do not wait for it.
      const text = 'An organization could not be deleted. The next attempt is in a minute.'
      deps.log.error({ err, organization: organization.id }, text)
    }
  }
}

async function deleteOrganization(
  deps: DeletionDeps,
  { id: organizationId, name }: { id: string; name: string },
  tables: readonly TableSchema[],
  stop: AbortSignal,
): Promise<void> {
  const { db, clock, log } = deps
  const hasBegun = await begin(deps, organizationId)
  if (!hasBegun) return
  let count = 0
  const repeat = async (deleteSome: () => Promise<number>) => {
    for (let deleted = -1; deleted !== 0 && !stop.aborted; count += deleted) {
      deleted = await deleteSome()
      if (deleted > 0) await markWork(db, organizationId, clock.now())
      if (deleted > 0) await clock.sleep(PAUSE_MS, stop)
    }
  }
  await repeat(() => deleteWebhooks(db, organizationId, clock.now()))
  await repeat(() => deleteEvents(db, organizationId))
  await repeat(() => deleteMonitorBatch(db, organizationId, clock.now()))
  for (const table of tables.toReversed()) {
    if (isDeletedByTenant(table)) await repeat(() => deleteRows(db, table, organizationId))
  }
  if (stop.aborted) return
  if (count > 0) log.info({ organization: organizationId, rows: count }, 'An organization is being deleted.')
  else if (await finish(db, organizationId, clock.now()))
    log.info(
      { organization: organizationId, name },
      'The organization was deleted with everything that belonged to it.',
    )
}

/** Cancellation locks the same row, so it comes before this or is refused. Nobody has access from here on. */
async function begin({ db, clock, log }: DeletionDeps, organizationId: string): Promise<boolean> {
  return await inTransaction(db, async (transaction) => {
    const now = clock.now()
    const row = await transaction
      .selectFrom('organizations')
      .select('deletion_worked_at')
      .where('id', '=', organizationId)
      .where('deletion_at', '<=', now)
      .modifyEnd(forUpdate(transaction))
      .executeTakeFirst()
    if (!row || row.deletion_worked_at !== null) return row !== undefined
    if (await isRenewed(transaction, { organizationId })) {
      log.warn(
        { organization: organizationId },
        'An organization is not deleted while it has a paid plan. Cancel the plan at Stripe.',
      )
      return false
    }
    for (const table of ['api_keys', 'agents', 'invitations', 'setup_pages'] as const)
      await transaction.deleteFrom(table).where('organization_id', '=', organizationId).execute()
    await markWork(transaction, organizationId, now)
    return true
  })
}

async function markWork(db: Database, organizationId: string, now: number): Promise<void> {
  await db.updateTable('organizations').set({ deletion_worked_at: now }).where('id', '=', organizationId).execute()
}

/** Their requests are deleted by `webhooks/retention.ts`. */
async function deleteWebhooks(db: Database, organizationId: string, now: number): Promise<number> {
  const webhooks = await db
    .selectFrom('webhooks')
    .select('id')
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .limit(DELETE_BATCH_SIZE)
    .execute()
  for (const { id } of webhooks) await deleteWebhook(db, systemContext(organizationId, now), id).catch(ignoreMissing)
  return webhooks.length
}

/** Another node deletes the same. */
const ignoreMissing = (error: unknown) => {
  if ((error as { status?: number }).status !== 404) throw error
}

/** With their bodies, of which some may wait for requests that are not made any more. */
async function deleteEvents(db: Database, organizationId: string): Promise<number> {
  return await inTransaction(db, async (transaction) => {
    const events = await transaction
      .selectFrom('events')
      .select('id')
      .where('organization_id', '=', organizationId)
      .orderBy('id')
      .limit(DELETE_BATCH_SIZE)
      .execute()
    const ids = events.map(({ id }) => id)
    for (const [table, column] of [
      ['event_bodies', 'event_id'],
      ['events', 'id'],
    ] as const) {
      await transaction
        .deleteFrom(table)
        .where('organization_id', '=', organizationId)
        .where(isOneOf(transaction, column, ids))
        .execute()
    }
    return ids.length
  })
}

async function deleteMonitorBatch(db: Database, organizationId: string, now: number): Promise<number> {
  return await inTransaction(db, async (transaction) => {
    const rows = await transaction
      .selectFrom('monitors')
      .selectAll()
      .where('organization_id', '=', organizationId)
      .orderBy('id')
      .limit(DELETE_BATCH_SIZE)
      .modifyEnd(forUpdate(transaction))
      .execute()
    const count = await countDeletable(transaction, { organizationId }, rows)
    if (count > 0) await deleteMonitors(transaction, { organizationId }, rows.slice(0, count), now)
    return rows.length
  })
}

/** Deleted with another row, or above: they have no index that begins with the organization. */
export const DELETED_OTHERWISE: Record<string, string> = {
  monitors: 'deleteMonitorBatch',
  due_checks: 'deleteMonitorBatch',
  webhooks: 'deleteWebhooks',
  group_webhooks: 'with the webhook',
  webhook_requests: 'with the webhook, by webhooks/retention.ts',
  webhook_attempts: 'with the webhook request',
  event_bodies: 'deleteEvents',
  due_mails: 'with the mail',
  removed_webhooks: 'by webhooks/retention.ts, after the requests of the webhook',
}

const isDeletedByTenant = ({ name, columns }: TableSchema) =>
  'organization_id' in columns && !(name in DELETED_OTHERWISE)

async function deleteRows(db: Database, { name, key }: TableSchema, organizationId: string): Promise<number> {
  const columns = sql.join(key.map((column) => sql.ref(column)))
  const { numAffectedRows } = await sql`delete from ${sql.table(name)} where organization_id = ${organizationId}
    and (${columns}) in (select ${columns} from ${sql.table(name)} where organization_id = ${organizationId}
      order by ${columns} limit ${DELETE_BATCH_SIZE})`.execute(db)
  return Number(numAffectedRows)
}

/** Returns whether the organization is gone. */
async function finish(db: Database, organizationId: string, now: number): Promise<boolean> {
  return await inTransaction(db, async (transaction) => {
    const row = await transaction
      .selectFrom('organizations')
      .select('deletion_worked_at')
      .where('id', '=', organizationId)
      .modifyEnd(forUpdate(transaction))
      .executeTakeFirst()
    if (!row || row.deletion_worked_at === null || row.deletion_worked_at > now - QUIET_MS) return false
    // Requests of its webhooks may still be left. The version before wrote no organization.
    const removed = await transaction
      .selectFrom('removed_webhooks')
      .select('webhook_id')
      .where((where) => where.or([where('organization_id', '=', organizationId), where('organization_id', 'is', null)]))
      .limit(1)
      .executeTakeFirst()
    if (removed) return false
    const { numDeletedRows } = await transaction
      .deleteFrom('organizations')
      .where('id', '=', organizationId)
      .executeTakeFirst()
    return numDeletedRows > 0n
  })
}
