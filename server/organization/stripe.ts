import type { Logger } from 'pino'
import type Stripe from 'stripe'
import type { Billing } from '#contract/organization.ts'
import type { InvoiceStatus } from '#contract/subscription.ts'
import type { Clock } from '../clock.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { followInvoice, forgetInvoice } from './invoices.ts'
import type { Payments, Report } from './payments.ts'
import type { PaidSubscription } from './subscription.ts'
import { findOrganizationOfCustomer, followSubscription } from './subscription-store.ts'

type ReportDeps = { db: Database; clock: Clock; log: Logger; config: Pick<Deps['config'], 'plans'> }

/** The provider repeats a report for three days. */
const REMEMBERED_MS = 30 * 24 * 60 * 60_000

/**
 * Deals with a signed report: asks the provider what the subscription or invoice is now, and records that together with the
 * report's id. Throws 503 when the provider does not answer; the provider then reports again.
 */
export async function handleStripeEvent(deps: ReportDeps, payments: Payments, report: Report): Promise<void> {
  const { db, clock } = deps
  if (!report.about || (await isDealtWith(db, report.id))) return
  const asOf = clock.now()
  const { kind, id } = report.about
  const record =
    kind === 'invoice' ? await readInvoice(payments, id, asOf) : await readSubscription(deps, payments, id, asOf)
  await inTransaction(db, async (transaction) => {
    if (await remember(transaction, report.id, clock.now())) await record(transaction)
  })
}

type Record = (transaction: Database) => Promise<void>

async function readSubscription(deps: ReportDeps, payments: Payments, id: string, asOf: number): Promise<Record> {
  const { log, config } = deps
  const found = await payments.findSubscription(id)
  return async (transaction) => {
    if (!found) return
    const followed = await followSubscription(transaction, config.plans, found, asOf)
    const { customer, price } = found
    if (followed === 'unknown_price') {
      log.error(
        { subscription: id, customer, price },
        'A subscription has a price that no plan in PLANS has. The plan is not changed.',
      )
    }
    if (followed === 'second') {
      log.error(
        { subscription: id, customer },
        'A customer has two subscriptions. The newer one counts. Cancel the other one in Stripe.',
      )
    }
  }
}

async function readInvoice(payments: Payments, id: string, asOf: number): Promise<Record> {
  const found = await payments.findInvoice(id)
  return async (transaction) => {
    if (!found) return await forgetInvoice(transaction, id)
    const organizationId = await findOrganizationOfCustomer(transaction, found.customer)
    if (organizationId !== undefined) await followInvoice(transaction, { organizationId }, found, asOf)
  }
}

async function isDealtWith(db: Database, id: string): Promise<boolean> {
  return (await db.selectFrom('stripe_events').select('id').where('id', '=', id).executeTakeFirst()) !== undefined
}

/** False when another process dealt with it meanwhile. */
async function remember(db: Database, id: string, now: number): Promise<boolean> {
  await db
    .deleteFrom('stripe_events')
    .where('received_at', '<', now - REMEMBERED_MS)
    .execute()
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('stripe_events')
    .values({ id, received_at: now })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows !== 0n
}

export type PaidInvoice = {
  id: string
  customer: string
  createdAt: number
  number: string | null
  status: InvoiceStatus
  currency: string
  total: number
  amountDue: number
  amountPaid: number
  periodStart: number
  periodEnd: number
  url: string | null
  pdf: string | null
}

export function toSubscription(given: Stripe.Subscription): PaidSubscription {
  const item = given.items.data[0]
  const end = msOrNull(item?.current_period_end)
  return {
    id: given.id,
    customer: idOf(given.customer),
    status: given.status,
    price: item?.price.id ?? null,
    quantity: item?.quantity ?? 1,
    createdAt: msOf(given.created),
    currentPeriodStart: msOrNull(item?.current_period_start),
    currentPeriodEnd: end,
    cancelAt: msOrNull(given.cancel_at) ?? (given.cancel_at_period_end ? end : null),
  }
}

/** Null for one that belongs to no customer. */
export function toInvoice(given: Stripe.Invoice): PaidInvoice | null {
  if (!given.customer) return null
  return {
    id: given.id,
    customer: idOf(given.customer),
    createdAt: msOf(given.created),
    number: given.number,
    status: (given.status ?? 'draft') as InvoiceStatus,
    currency: given.currency.toUpperCase(),
    total: given.total,
    amountDue: given.amount_due,
    amountPaid: given.amount_paid,
    periodStart: msOf(given.period_start),
    periodEnd: msOf(given.period_end),
    url: given.hosted_invoice_url ?? null,
    pdf: given.invoice_pdf ?? null,
  }
}

export function toCustomer(billing: Billing): Stripe.CustomerUpdateParams {
  const text = (value: string | null) => value ?? ''
  const { name, email, line1, line2, zipcode, city, state, country, vat } = billing
  const address = { line1, line2, postal_code: zipcode, city, state, country }
  const isEmpty = Object.values(address).every((part) => part === null)
  return {
    name: text(name),
    email: text(email),
    metadata: { vat: text(vat) },
    address: isEmpty ? '' : Object.fromEntries(Object.entries(address).map(([part, value]) => [part, text(value)])),
  }
}

const msOf = (seconds: number): number => seconds * 1_000
const msOrNull = (seconds: number | null | undefined): number | null =>
  typeof seconds === 'number' ? msOf(seconds) : null
const idOf = (named: string | { id: string }): string => (typeof named === 'string' ? named : named.id)
