import type { Billing, BillingChange } from '#contract/organization.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { FieldErrors } from '../problem.ts'
import { isCountry, isCurrency } from './codes.ts'
import { lockOrganization } from './lock.ts'

const NOTHING: Billing = {
  name: null,
  email: null,
  line1: null,
  line2: null,
  zipcode: null,
  city: null,
  state: null,
  country: null,
  vat: null,
  currency: null,
}

export async function getBilling(db: Database, organizationId: string): Promise<Billing> {
  const row = await db
    .selectFrom('billing_details')
    .select(Object.keys(NOTHING) as (keyof Billing)[])
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return row ?? NOTHING
}

/** What the schema cannot judge; it may be called with what the schema refuses. */
export function refusalsOfBilling({ country, currency }: BillingChange): FieldErrors {
  const errors: FieldErrors = {}
  if (typeof country === 'string' && !isCountry(country.toUpperCase())) {
    errors.country = `must be a country by ISO 3166-1, like DE or GB, not "${country}".`
  }
  if (typeof currency === 'string' && !isCurrency(currency.toUpperCase())) {
    errors.currency = `must be a currency by ISO 4217, like EUR or USD, not "${currency}".`
  }
  return errors
}

/** `change`: judged already. What is absent stays; null and empty text clear. Country and currency are kept in capitals. */
export async function updateBilling(db: Database, organizationId: string, change: BillingChange): Promise<Billing> {
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const billing = newBilling(await getBilling(transaction, organizationId), change)
    await transaction
      .insertInto('billing_details')
      .values({ organization_id: organizationId, ...billing })
      .onConflict((conflict) => conflict.column('organization_id').doUpdateSet(billing))
      .execute()
    return billing
  })
}

function newBilling(before: Billing, change: BillingChange): Billing {
  const billing = { ...before }
  for (const name of Object.keys(NOTHING) as (keyof Billing)[]) {
    const given = change[name]
    if (given === undefined) continue
    const text = given?.trim() || null
    billing[name] = name === 'country' || name === 'currency' ? (text?.toUpperCase() ?? null) : text
  }
  return billing
}
