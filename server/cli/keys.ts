import type { KeyLimit } from '#contract/api-keys.ts'
import { findCreatedKeys, getOrganizationOfKey, insertKey, type KeyRole, listKeys } from '../accounts/api-key-store.ts'
import { revokeKeyAndInvitations, setKeyLimits } from '../accounts/api-keys.ts'
import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import { InvalidSetting, parseLimit } from '../config/parse.ts'
import { operatorContext, type RequestContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { withinQuota } from '../organization/quota.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { getOrganizationBySlug, notFoundAs, print, printJson, throwProblemText } from './arguments.ts'
import { withDatabase } from './prepare-database.ts'
import { table } from './table.ts'

type KeyOptions = { organization?: string; json?: boolean }

export async function createKey(options: KeyOptions & { name: string; role: KeyRole }): Promise<void> {
  const { name, role, organization, json } = options
  await withDatabase(async (db, config) => {
    const { id: organizationId, slug } = await getOrganizationBySlug(db, organization)
    const { id, key } = await withinQuota(
      { db, config, clock: systemClock },
      { organizationId },
      'api_keys',
      (transaction) => insertKey(transaction, operatorContext(organizationId, systemClock.now()), { name, role }),
    ).catch(throwProblemText)
    if (json) return printJson({ id, key, name, role, organization: slug })
    print(
      `API key "${name}" (${role}) for ${slug}, shown only once:\n\n  ${key}\n\nRevoke it with: zonewatch keys revoke ${id}`,
    )
  })
}

export async function printKeys({ organization, json }: KeyOptions): Promise<void> {
  await withDatabase(async (db) => {
    const id = organization === undefined ? undefined : (await getOrganizationBySlug(db, organization)).id
    const keys = await listKeys(db, id)
    if (json) {
      const objects = keys.map(({ id, name, role, organization, created_by, ...key }) => ({
        id,
        name,
        role,
        organization,
        created_by,
        created: toIso(key.created_at),
        last_used: toIsoOrNull(key.last_used_at),
        expires: toIsoOrNull(key.expires_at),
        revoked: toIsoOrNull(key.revoked_at),
      }))
      return printJson(objects)
    }
    if (keys.length === 0) return print('No API keys exist. Create one with: zonewatch setup --help')
    const minute = (instant: number | null) => toIsoOrNull(instant)?.slice(0, 16).replace('T', ' ') ?? 'never'
    const rows = keys.map((key) => [
      ...[key.id, key.organization, key.name, key.role],
      ...[minute(key.created_at), minute(key.last_used_at), stateOf(key)],
    ])
    print(table(['ID', 'ORGANIZATION', 'NAME', 'ROLE', 'CREATED (UTC)', 'LAST USED (UTC)', 'STATE'], rows))
  })
}

export async function revoke(id: string): Promise<void> {
  await withDatabase(async (db) => {
    const context = await contextOfKey(db, id)
    await revokeKeyAndInvitations(db, context, id).catch(unknownKey(id))
    print(`${id} is revoked. Requests with this key are rejected.`)
    const created = await findCreatedKeys(db, context, id)
    if (created.length === 0) return
    print('Keys that it created still work. Revoke each that you do not know:')
    for (const key of created) print(`  zonewatch keys revoke ${key.id}`)
  })
}

/** `options`: for each class of requests a number, or `default` for the limit of the server. */
export async function setLimits(id: string, options: Partial<Record<KeyLimit, string>>): Promise<void> {
  await withDatabase(async (db, config) => {
    const context = await contextOfKey(db, id)
    const change = Object.fromEntries(
      Object.entries(options).map(([kind, text]) => [kind, text === 'default' ? null : parseLimitOption(kind, text)]),
    )
    const limits = await setKeyLimits(db, config, context, id, change).catch(unknownKey(id))
    const rows = Object.entries(limits).map(([kind, limit]) => [kind, limit === 0 ? 'no limit' : String(limit)])
    print(rows.length === 0 ? `${id} has the limits of the server.` : table(['CLASS', 'PER MINUTE'], rows))
  })
}

const unknownKey = (id: string) => notFoundAs(`No active key has the id ${id}. List them with: zonewatch keys list`)

const contextOfKey = async (db: Database, id: string): Promise<RequestContext> =>
  operatorContext(await getOrganizationOfKey(db, id).catch(unknownKey(id)), systemClock.now())

function parseLimitOption(kind: string, text: string): number {
  try {
    return parseLimit(text)
  } catch (error) {
    throw error instanceof InvalidSetting ? new CliError(`--${kind} ${error.message}`) : error
  }
}

function stateOf({ revoked_at, expires_at }: { revoked_at: number | null; expires_at: number | null }): string {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && expires_at <= systemClock.now() ? 'expired' : 'live'
}
