import type Stripe from 'stripe'
import type { Billing } from '#contract/organization.ts'
import type { InvoiceStatus } from '#contract/subscription.ts'
import type { PaidSubscription } from './subscription.ts'

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
