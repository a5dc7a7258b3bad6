import { sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import { DELETION_DAYS, type OrganizationDeletion } from '#contract/organization.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { listOwnerEmails } from '../mail/addresses.ts'
import { queueMail } from '../mail/outbox.ts'
import { activeSubscription, findSubscriptionRow } from '../organization/subscription-store.ts'
import { conflict, invalid, notFound } from '../problem.ts'
import { DAY_MS, toIso, toIsoOrNull } from '../times.ts'

/** Without a requested deletion all fields are null. */
export async function getDeletion(db: Database, { organizationId }: Tenant): Promise<OrganizationDeletion> {
  return toDeletion(await getRow(db, organizationId))
}

type DeletionRequest = {
  /** Must be the name of the organization. */
  name: string
  /** By default seven days, in which an owner can cancel it. */
  afterMs?: number
}

/**
 * Everything goes on until the deletion begins. A second request changes nothing. Notifies the owners. Throws 400 for another name,
 * and 409 while a paid plan would be renewed.
 */
export async function requestDeletion(
  db: Database,
  context: RequestContext,
  { name, afterMs = DELETION_DAYS * DAY_MS }: DeletionRequest,
): Promise<OrganizationDeletion> {
  const { organizationId, now, actor } = context
  return await inTransaction(db, async (transaction) => {
    const row = await getRow(transaction, organizationId, forUpdate(transaction))
    if (name.trim() !== row.name.trim()) throw invalid({ name: fieldError('other_name', { name: row.name }) })
    const deletionAt = Math.min(now + afterMs, row.deletion_at ?? Number.POSITIVE_INFINITY)
    if (deletionAt === row.deletion_at) return toDeletion(row)
    await refuseRenewedPlan(transaction, context)
    const set = { deletion_requested_at: now, deletion_requested_by: actor.label, deletion_at: deletionAt }
    await transaction.updateTable('organizations').set(set).where('id', '=', organizationId).execute()
    const content = { kind: 'organization_deletion', organization: row.name, by: actor.label, at: deletionAt } as const
    const recipients = await listOwnerEmails(transaction, organizationId)
    await queueMail(transaction, organizationId, { about: organizationId, recipients, content }, now)
    const object = { id: organizationId, label: row.name }
    const change = { before: { deletes: toIsoOrNull(row.deletion_at) }, after: { deletes: toIso(deletionAt) } }
    await recordAudit(transaction, context, { action: 'organization.deletion_requested', object, ...change })
    return toDeletion({ ...row, ...set })
  })
}

/** Does nothing without a requested deletion. Throws 409 if the deletion has begun. */
export async function cancelDeletion(db: Database, context: RequestContext): Promise<void> {
  const { organizationId } = context
  await inTransaction(db, async (transaction) => {
    const row = await getRow(transaction, organizationId, forUpdate(transaction))
    if (row.deletion_worked_at !== null) throw conflict('The deletion has begun and cannot be canceled.')
    if (row.deletion_at === null) return
    const set = { deletion_requested_at: null, deletion_requested_by: null, deletion_at: null }
    await transaction.updateTable('organizations').set(set).where('id', '=', organizationId).execute()
    const object = { id: organizationId, label: row.name }
    const change = { before: { deletes: toIso(row.deletion_at) }, after: { deletes: null } }
    await recordAudit(transaction, context, { action: 'organization.deletion_canceled', object, ...change })
  })
}

/** Stripe would go on charging for an organization that no longer exists. */
export async function refuseRenewedPlan(db: Database, tenant: Tenant): Promise<void> {
  if (await isRenewed(db, tenant))
    throw conflict('The organization has a paid plan. Cancel the plan first; then nothing more is charged.')
}

export async function isRenewed(db: Database, tenant: Tenant): Promise<boolean> {
  const row = await findSubscriptionRow(db, tenant)
  return activeSubscription(row) !== null && row?.cancel_at == null
}

async function getRow(db: Database, id: string, lock = sql``) {
  const query = db.selectFrom('organizations').select(COLUMNS).where('id', '=', id).modifyEnd(lock)
  const row = await query.executeTakeFirst()
  if (!row) throw notFound()
  return row
}

const COLUMNS = [
  ...(['name', 'deletion_requested_at', 'deletion_requested_by'] as const),
  ...(['deletion_at', 'deletion_worked_at'] as const),
] as const

type DeletionRow = Pick<
  Awaited<ReturnType<typeof getRow>>,
  'deletion_requested_at' | 'deletion_requested_by' | 'deletion_at'
>

const toDeletion = (row: DeletionRow): OrganizationDeletion => ({
  requested: toIsoOrNull(row.deletion_requested_at),
  requested_by: row.deletion_requested_by,
  deletes: toIsoOrNull(row.deletion_at),
})
