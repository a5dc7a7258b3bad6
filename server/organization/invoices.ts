import type { Selectable } from 'kysely'
import type { Invoice } from '#contract/subscription.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { listPage, type Page, type PageQuery } from '../database/pagination.ts'
import type { InvoicesTable } from '../database/schema-people.ts'
import type { Keyring } from '../keyring.ts'
import { toIso } from '../times.ts'

type InvoiceRow = Selectable<InvoicesTable>

const ORDERS = { created: { column: 'invoices.created_at' } }

/** As Stripe last reported them. */
export async function listInvoices(
  db: Database,
  keyring: Keyring,
  { organizationId }: Tenant,
  query: PageQuery,
): Promise<Page<Invoice>> {
  const rows = db.selectFrom('invoices').selectAll('invoices').where('invoices.organization_id', '=', organizationId)
  const scope = ['invoices', organizationId]
  const page = await listPage<InvoiceRow>(rows, { keyring, query, id: 'invoices.id', orders: ORDERS, scope })
  return { ...page, data: page.data.map(toInvoice) }
}

/** An invoice as Stripe returns it, in the columns of the table. */
export type StripeInvoice = Omit<InvoiceRow, 'organization_id' | 'as_of'> & { customer: string }

/** `asOf`: when it was requested from Stripe. An older state than the stored one changes nothing. */
export async function storeInvoice(
  db: Database,
  { organizationId }: Tenant,
  { id, customer: _, ...columns }: StripeInvoice,
  asOf: number,
): Promise<void> {
  const values = { ...columns, as_of: asOf }
  await db
    .insertInto('invoices')
    .values({ id, organization_id: organizationId, ...values })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(values).where('invoices.as_of', '<=', asOf))
    .execute()
}

export async function deleteInvoice(db: Database, id: string): Promise<void> {
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
