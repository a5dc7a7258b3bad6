import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { deleteInvoice, storeInvoice } from './invoices.ts'
import type { Payments, StripeEvent } from './payments.ts'
import { findOrganizationOfCustomer, storeSubscription } from './subscription-store.ts'

type EventDeps = { db: Database; clock: Clock; log: Logger; config: Pick<Deps['config'], 'plans'> }

/** Stripe retries an event for three days. */
const RETENTION_MS = 30 * 24 * 60 * 60_000

/**
 * Requests the current state of the subscription or invoice from Stripe, and stores it together with the id of the event.
 * Throws 503 if Stripe is unavailable. Stripe then retries the event.
 */
export async function handleStripeEvent(deps: EventDeps, payments: Payments, event: StripeEvent): Promise<void> {
  const { db, clock } = deps
  if (!event.object || (await isHandled(db, event.id))) return
  const asOf = clock.now()
  const { kind, id } = event.object
  const store =
    kind === 'invoice' ? await fetchInvoice(payments, id, asOf) : await fetchSubscription(deps, payments, id, asOf)
  await inTransaction(db, async (transaction) => {
    if (await insertEvent(transaction, event.id, clock.now())) await store(transaction)
  })
}

type Store = (transaction: Database) => Promise<void>

async function fetchSubscription(deps: EventDeps, payments: Payments, id: string, asOf: number): Promise<Store> {
  const { log, config } = deps
  const subscription = await payments.findSubscription(id)
  return async (transaction) => {
    if (!subscription) return
    const result = await storeSubscription(transaction, config.plans, subscription, asOf)
    const { customer, price } = subscription
    if (result === 'unknown_price') {
      log.error(
        { subscription: id, customer, price },
        'A subscription has a price that no plan in PLANS has. The plan is not changed.',
      )
    }
    if (result === 'second') {
      log.error(
        { subscription: id, customer },
        'A customer has two subscriptions. The newer one counts. Cancel the other one in Stripe.',
      )
    }
  }
}

async function fetchInvoice(payments: Payments, id: string, asOf: number): Promise<Store> {
  const invoice = await payments.findInvoice(id)
  return async (transaction) => {
    // Stripe deletes drafts.
    if (!invoice) return await deleteInvoice(transaction, id)
    const organizationId = await findOrganizationOfCustomer(transaction, invoice.customer)
    if (organizationId !== undefined) await storeInvoice(transaction, { organizationId }, invoice, asOf)
  }
}

async function isHandled(db: Database, id: string): Promise<boolean> {
  return (await db.selectFrom('stripe_events').select('id').where('id', '=', id).executeTakeFirst()) !== undefined
}

/** Returns false if another process handled the event meanwhile. Also deletes old events. */
async function insertEvent(db: Database, id: string, now: number): Promise<boolean> {
  await db
    .deleteFrom('stripe_events')
    .where('received_at', '<', now - RETENTION_MS)
    .execute()
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('stripe_events')
    .values({ id, received_at: now })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows !== 0n
}
