import { type MonitorRecordType, RECORD_TYPES } from '#contract/record-types.ts'
import { getOrganization } from '../accounts/organizations.ts'
import { CliError } from '../cli-error.ts'
import type { Database } from '../database/database.ts'
import { parseMonitorName } from '../monitors/names.ts'
import { fieldTexts, Problem } from '../problem.ts'

/** What the arguments of commands name. */

/** By its slug; the only one where none is named. Throws a `CliError`. */
export async function organizationNamed(
  db: Database,
  named: string | undefined,
): Promise<{ id: string; slug: string }> {
  const sentence =
    named === undefined
      ? 'Choose an organization with --organization SLUG. The server has none yet, or more than one.'
      : `No organization has the slug "${named}".`
  return await getOrganization(db, named).catch(unknown(sentence))
}

/** Throws a `CliError`. */
export function recordNamed(name: string, type: string): { owner: string; recordType: MonitorRecordType } {
  const recordType = RECORD_TYPES.find((each) => each === type.toUpperCase())
  if (!recordType) throw new CliError(`Unknown record type "${type}". Use one of ${RECORD_TYPES.join(', ')}.`)
  const parsed = parseMonitorName({ full_domain: name }, recordType)
  if (!parsed.ok) throw new CliError(Object.values(fieldTexts(parsed.problems)).join('\n'))
  return { owner: parsed.name.owner, recordType }
}

/** For what is only refused because it does not exist. */
export const unknown =
  (sentence: string) =>
  (error: unknown): never => {
    throw error instanceof Problem ? new CliError(sentence) : error
  }

export const refused = (error: unknown): never => {
  if (!(error instanceof Problem)) throw error
  const fields = Object.entries(fieldTexts(error.errors ?? {})).map(([field, text]) => `${field} ${text}`)
  throw new CliError(fields.length === 0 ? error.message : fields.join('\n'))
}

export const print = (text: string) => {
  process.stdout.write(`${text}\n`)
}
