import { type MonitorRecordType, RECORD_TYPES } from '#contract/record-types.ts'
import { visibleJson, visibleLines } from '#contract/visible-text.ts'
import { getOrganization } from '../accounts/organizations.ts'
import { CliError } from '../cli-error.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { parseMonitorName } from '../monitors/names.ts'
import { fieldTexts, Problem } from '../problem.ts'

/** Without a slug: the only organization of the server. Throws a `CliError`. */
export async function getOrganizationBySlug(
  db: Database,
  slug: string | undefined,
): Promise<{ id: string; slug: string }> {
  const message =
    slug === undefined
      ? 'Choose an organization with --organization SLUG. The server has none yet, or more than one.'
      : `No organization has the slug "${slug}".`
  return await getOrganization(db, slug).catch(notFoundAs(message))
}

/** Throws a `CliError`. */
export function parseRecord(name: string, type: string): { owner: string; recordType: MonitorRecordType } {
  const recordType = RECORD_TYPES.find((known) => known === type.toUpperCase())
  if (!recordType) throw new CliError(`Unknown record type "${type}". Use one of ${RECORD_TYPES.join(', ')}.`)
  const parsed = parseMonitorName({ full_domain: name }, recordType)
  if (!parsed.ok) throw new CliError(Object.values(fieldTexts(parsed.errors)).join('\n'))
  return { owner: parsed.name.owner, recordType }
}

/** `instead`: what to do if several monitors check the record. Throws a `CliError`. */
export async function getMonitorId(
  db: Database,
  { organizationId }: Tenant,
  { owner, recordType }: { owner: string; recordType: MonitorRecordType },
  instead: string,
): Promise<string> {
  const rows = await db
    .selectFrom('monitors')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('owner', '=', owner)
    .where('record_type', '=', recordType)
    .limit(2)
    .execute()
  if (rows.length === 0) throw new CliError(`No monitor checks ${owner} ${recordType}.`)
  if (rows.length > 1) throw new CliError(`Several monitors check ${owner} ${recordType}. ${instead}`)
  return rows[0]!.id
}

/** In UTC, without seconds. */
export const timeText = (iso: string): string => iso.slice(0, 16).replace('T', ' ')

/** Turns a `not_found` problem into a `CliError` with this message. */
export const notFoundAs =
  (message: string) =>
  (error: unknown): never => {
    throw error instanceof Problem ? new CliError(message) : error
  }

/** Turns a problem into a `CliError` with its messages. */
export const throwProblemText = (error: unknown): never => {
  if (!(error instanceof Problem)) throw error
  const fields = Object.entries(fieldTexts(error.errors ?? {})).map(([field, text]) => `${field} ${text}`)
  throw new CliError(fields.length === 0 ? error.message : fields.join('\n'))
}

/** Hidden characters of DNS data and names are shown, because a terminal obeys them. */
export const print = (text: string) => {
  process.stdout.write(`${visibleLines(text)}\n`)
}

export const printJson = (value: unknown) => {
  process.stdout.write(`${visibleJson(value)}\n`)
}
