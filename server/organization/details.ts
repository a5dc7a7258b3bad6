import { hash } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import { MAX_LOGO_BYTES, type Organization, type OrganizationChange } from '#contract/organization.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import type { OrganizationsTable } from '../database/schema.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import type { Keyring } from '../keyring.ts'
import { normalizeAddress, requestConfirmations } from '../mail/addresses.ts'
import type { Plans } from '../plan.ts'
import { conflict, type FieldErrors, notFound, Problem } from '../problem.ts'
import { toIso } from '../times.ts'
import { findTimeZone } from './iso-codes.ts'
import { currentPlan } from './quota.ts'

/** Throws `not_found`. */
export async function getOrganizationDetails(db: Database, { organizationId }: Tenant): Promise<Organization> {
  return toOrganization(await getRow(db, organizationId))
}

async function getRow(db: Database, organizationId: string, lock = sql``): Promise<Selectable<OrganizationsTable>> {
  const rows = db.selectFrom('organizations').selectAll().where('id', '=', organizationId)
  const row = await rows.modifyEnd(lock).executeTakeFirst()
  if (!row) throw notFound()
  return row
}

/** What the schema does not check. Ignores values of a wrong type: the schema reports them. */
export function organizationErrors({ settings }: OrganizationChange): FieldErrors {
  const { timezone, logo } = settings ?? {}
  const errors: FieldErrors = {}
  if (typeof timezone === 'string' && findTimeZone(timezone) === undefined)
    errors['settings.timezone'] = fieldError('invalid_time_zone')
  if (typeof logo === 'string' && !isImage(logo))
    errors['settings.logo'] = fieldError('invalid_image', { max: MAX_LOGO_BYTES })
  return errors
}

/** The first bytes of a file. Not SVG, which can contain scripts and references. */
const SIGNATURES: Record<string, (bytes: Buffer) => boolean> = {
  png: (bytes) => bytes.toString('latin1', 1, 4) === 'PNG',
  jpeg: (bytes) => bytes.toString('hex', 0, 3) === 'ffd8ff',
  webp: (bytes) => bytes.toString('latin1', 8, 12) === 'WEBP',
}

/** Strict, because public pages show the image. */
function isImage(dataUrl: string): boolean {
  const [, type, base64 = ''] = /^data:image\/(png|jpeg|webp);base64,(.*)$/.exec(dataUrl) ?? []
  const bytes = Buffer.from(base64, 'base64')
  return type !== undefined && bytes.length <= MAX_LOGO_BYTES && SIGNATURES[type]!(bytes)
}

/** `change`: validated. Absent fields keep their values. New `alert_emails` are asked to confirm. Throws 409 for a taken slug, 402 if the plan has a shorter event retention. */
export async function updateOrganization(
  { db, keyring, plans }: { db: Database; keyring: Keyring; plans: Plans },
  context: RequestContext,
  change: OrganizationChange,
  match?: Match,
): Promise<Organization> {
  const { organizationId } = context
  const { name, slug, settings = {} } = change
  return await inTransaction(db, async (transaction) => {
    await refuseLongRetention(transaction, plans, context, settings.event_retention_days)
    const row = await getRow(transaction, organizationId, forUpdate(transaction))
    refuseStale(row, match)
    if (slug !== undefined && slug !== row.slug) await refuseTakenSlug(transaction, slug)
    const { timezone, event_retention_days, alert_emails, logo } = settings
    const emails = alert_emails === undefined ? undefined : [...new Set((alert_emails ?? []).map(normalizeAddress))]
    const set = {
      name: name ?? row.name,
      slug: slug ?? row.slug,
      timezone: timezone === undefined ? row.timezone : findTimeZone(timezone)!,
      event_retention_days: event_retention_days === undefined ? row.event_retention_days : event_retention_days,
      alert_emails: emails === undefined ? row.alert_emails : JSON.stringify(emails),
      logo: logo === undefined ? row.logo : logo,
    }
    await transaction
      .updateTable('organizations')
      .set({ ...set, ...nextVersion })
      .where('id', '=', organizationId)
      .execute()
    if (emails !== undefined) await requestConfirmations(transaction, keyring, context, emails, 'settings.alert_emails')
    const before = toOrganization(row)
    const after = toOrganization({ ...row, ...set, version: row.version + 1 })
    await recordAudit(transaction, context, {
      action: 'organization.updated',
      object: { id: organizationId, label: row.name },
      before: auditedFields(before),
      after: auditedFields(after),
    })
    return after
  })
}

/** With a hash instead of the image. */
function auditedFields({ settings: { logo, ...settings }, ...organization }: Organization) {
  return { ...organization, ...settings, logo: logo === null ? null : hash('sha256', logo, 'hex').slice(0, 16) }
}

function toOrganization(row: Selectable<OrganizationsTable>): Organization {
  const organization: Organization = {
    id: row.id,
    name: row.name,
    slug: row.slug,
    created: toIso(row.created_at),
    settings: {
      timezone: row.timezone,
      event_retention_days: row.event_retention_days,
      alert_emails: JSON.parse(row.alert_emails),
      logo: row.logo,
    },
  }
  return withVersion(organization, row.version)
}

async function refuseLongRetention(db: Database, plans: Plans, tenant: Tenant, days: number | null | undefined) {
  if (typeof days !== 'number') return
  const { name, limits } = await currentPlan(db, plans, tenant)
  if (limits.event_retention_days === null || days <= limits.event_retention_days) return
  throw new Problem(
    402,
    `The plan ${name} keeps events for at most ${limits.event_retention_days} days, not ${days}. Use fewer days or change the plan.`,
  )
}

async function refuseTakenSlug(db: Database, slug: string): Promise<void> {
  const taken = await db.selectFrom('organizations').select('id').where('slug', '=', slug).executeTakeFirst()
  if (taken) {
    throw conflict(`The slug "${slug}" is taken by another organization. Use another slug.`, undefined, 'slug_taken')
  }
}
