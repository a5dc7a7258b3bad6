import type { Selectable } from 'kysely'
import type { Invoice } from '#contract/subscription.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { listPage, type Page, type PageQuery } from '../database/pagination.ts'
import type { InvoicesTable } from '../database/schema-people.ts'
import type { Seal } from '../seal.ts'
import { toIso } from '../times.ts'
import type { PaidInvoice } from './stripe.ts'

type InvoiceRow = Selectable<InvoicesTable>

const ORDERS = { created: { column: 'invoices.created_at' } }

/** As the payment provider last reported them: reading does not wait for it. */
export async function listInvoices(
  db: Database,
  seal: Seal,
  { organizationId }: Tenant,
  query: PageQuery,
): Promise<Page<Invoice>> {
  const base = db.selectFrom('invoices').selectAll('invoices').where('invoices.organization_id', '=', organizationId)
  const scope = ['invoices', organizationId]
  const page = await listPage<InvoiceRow>(base as never, { seal, query, id: 'invoices.id', orders: ORDERS, scope })
  return { ...page, data: page.data.map(toInvoice) }
}

/** An answer older than the one recorded changes nothing. */
export async function followInvoice(
  db: Database,
  { organizationId }: Tenant,
  found: PaidInvoice,
  asOf: number,
): Promise<void> {
  const values = {
    created_at: found.createdAt,
    number: found.number,
    status: found.status,
    currency: found.currency,
    total: found.total,
    amount_due: found.amountDue,
    amount_paid: found.amountPaid,
    period_start: found.periodStart,
    period_end: found.periodEnd,
    url: found.url,
    pdf: found.pdf,
    as_of: asOf,
  }
  await db
    .insertInto('invoices')
    .values({ id: found.id, organization_id: organizationId, ...values })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(values).where('invoices.as_of', '<=', asOf))
    .execute()
}

/** For a draft that was deleted. */
export async function forgetInvoice(db: Database, id: string): Promise<void> {
  await db.deleteFrom('invoices').where('id', '=', id).execute()
}

function toInvoice(row: InvoiceRow): Invoice {
  return {
    id: row.id,
    number: row.number,
    created: toIso(row.created_at),
    status: row.status,
    currency: row.currency,
    total: row.total,
    amount_due: row.amount_due,
    amount_paid: row.amount_paid,
    period_start: toIso(row.period_start),
    period_end: toIso(row.period_end),
    url: row.url,
    pdf: row.pdf,
  }
}
