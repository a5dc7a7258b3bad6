import { fieldError } from '#contract/field-errors.ts'
import { Billing, type BillingChange } from '#contract/organization.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { type Match, refuseStale, versionOf, withVersion } from '../database/versions.ts'
import type { FieldErrors } from '../problem.ts'
import { isCountry, isCurrency } from './iso-codes.ts'

const FIELDS = Object.keys(Billing.properties) as (keyof Billing)[]
const EMPTY_BILLING = Object.fromEntries(FIELDS.map((field) => [field, null])) as Billing

export async function getBilling(db: Database, { organizationId }: Tenant): Promise<Billing> {
  const row = await db
    .selectFrom('billing_details')
    .select(FIELDS)
    .select('version')
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  if (!row) return withVersion({ ...EMPTY_BILLING }, 0)
  const { version, ...billing } = row
  return withVersion(billing, version)
}

/** What the schema does not check. Ignores values of a wrong type: the schema reports them. */
export function billingErrors({ country, currency }: BillingChange): FieldErrors {
  const errors: FieldErrors = {}
  if (typeof country === 'string' && !isCountry(country.toUpperCase())) {
    errors.country = fieldError('invalid_country', { given: JSON.stringify(country) })
  }
  if (typeof currency === 'string' && !isCurrency(currency.toUpperCase())) {
    errors.currency = fieldError('invalid_currency', { given: JSON.stringify(currency) })
  }
  return errors
}

/** `change`: validated. Absent fields keep their values, null and an empty text clear them. Stores country and currency in upper case. */
export async function updateBilling(
  db: Database,
  context: RequestContext,
  change: BillingChange,
  match?: Match,
): Promise<Billing> {
  const { organizationId } = context
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const before = await getBilling(transaction, context)
    const version = versionOf(before)!.version
    refuseStale({ version }, match)
    const billing = applyChange(before, change)
    const row = { ...billing, version: version + 1 }
    await transaction
      .insertInto('billing_details')
      .values({ organization_id: organizationId, ...row })
      .onConflict((conflict) => conflict.column('organization_id').doUpdateSet(row))
      .execute()
    await recordAudit(transaction, context, { action: 'billing.updated', object: {}, before, after: billing })
    return withVersion(billing, row.version)
  })
}

function applyChange(before: Billing, change: BillingChange): Billing {
  const billing = { ...before }
  for (const name of FIELDS) {
    const value = change[name]
    if (value === undefined) continue
    const text = value?.trim() || null
    billing[name] = name === 'country' || name === 'currency' ? (text?.toUpperCase() ?? null) : text
  }
  return billing
}
