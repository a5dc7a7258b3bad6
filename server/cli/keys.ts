import type { KeyLimit } from '#contract/api-keys.ts'
import { setLimitsOf } from '../accounts/api-key-changes.ts'
import { getOrganizationOfKey, insertKey, type KeyRole, listKeys, revokeKey } from '../accounts/api-keys.ts'
import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import { parseLimit, Refusal } from '../config/parse.ts'
import { operatorContext } from '../context.ts'
import { isoOf, isoOrNull } from '../http/times.ts'
import { withinQuota } from '../organization/quota.ts'
import { organizationNamed, print, refused, unknown } from './named.ts'
import { withDatabase } from './open.ts'
import { table } from './table.ts'

type Choice = { organization?: string; json?: boolean }

export async function createKey({
  name,
  role,
  organization,
  json,
}: Choice & { name: string; role: KeyRole }): Promise<void> {
  await withDatabase(async (db, config) => {
    const { id: organizationId, slug } = await organizationNamed(db, organization)
    const quotaDeps = { db, config, clock: systemClock }
    const made = withinQuota(quotaDeps, { organizationId }, 'api_keys', (transaction) =>
      insertKey(transaction, operatorContext(organizationId, systemClock.now()), { name, role }),
    )
    const { id, key } = await made.catch(refused)
    if (json) return print(JSON.stringify({ id, key, name, role, organization: slug }))
    print(
      `API key "${name}" (${role}) for ${slug}, shown only once:\n\n  ${key}\n\nRevoke it with: zonewatch keys revoke ${id}`,
    )
  })
}

export async function printKeys({ organization, json }: Choice): Promise<void> {
  await withDatabase(async (db) => {
    const id = organization === undefined ? undefined : (await organizationNamed(db, organization)).id
    const keys = await listKeys(db, id)
    if (json) {
      const shown = keys.map(
        ({ id, name, role, organization, created_by, created_at, last_used_at, expires_at, revoked_at }) => ({
          ...{
            id,
            name,
            role,
            organization,
            created_by,
            created: isoOf(created_at),
            last_used: isoOrNull(last_used_at),
          },
          ...{ expires: isoOrNull(expires_at), revoked: isoOrNull(revoked_at) },
        }),
      )
      return print(JSON.stringify(shown))
    }
    if (keys.length === 0) return print('No API keys exist. Create one with: zonewatch setup --help')
    const day = (instant: number | null) => isoOrNull(instant)?.slice(0, 16).replace('T', ' ') ?? 'never'
    const rows = keys.map((key) => [
      key.id,
      key.organization,
      key.name,
      key.role,
      day(key.created_at),
      day(key.last_used_at),
      stateOf(key),
    ])
    print(table(['ID', 'ORGANIZATION', 'NAME', 'ROLE', 'CREATED (UTC)', 'LAST USED (UTC)', 'STATE'], rows))
  })
}

export async function revoke(id: string): Promise<void> {
  await withDatabase(async (db) => {
    const isUnknown = unknown(`No active key has the id ${id}. List them with: zonewatch keys list`)
    const organizationId = await getOrganizationOfKey(db, id).catch(isUnknown)
    await revokeKey(db, operatorContext(organizationId, systemClock.now()), id).catch(isUnknown)
    print(`${id} is revoked. Requests with this key are rejected.`)
  })
}

/** `given`: by class, a number, or `default` for the limit of the server. */
export async function setLimits(id: string, given: Partial<Record<KeyLimit, string>>): Promise<void> {
  await withDatabase(async (db, config) => {
    const isUnknown = unknown(`No active key has the id ${id}. List them with: zonewatch keys list`)
    const organizationId = await getOrganizationOfKey(db, id).catch(isUnknown)
    const context = operatorContext(organizationId, systemClock.now())
    const change = Object.fromEntries(
      Object.entries(given).map(([kind, text]) => [kind, text === 'default' ? null : limitOf(kind, text)]),
    )
    const limits = await setLimitsOf(db, config, context, id, change).catch(isUnknown)
    const lines = Object.entries(limits).map(([kind, limit]) => [kind, limit === 0 ? 'no limit' : String(limit)])
    print(lines.length === 0 ? `${id} has the limits of the server.` : table(['CLASS', 'PER MINUTE'], lines))
  })
}

function limitOf(kind: string, text: string): number {
  try {
    return parseLimit(text)
  } catch (error) {
    throw error instanceof Refusal ? new CliError(`--${kind} ${error.message}`) : error
  }
}

function stateOf({ revoked_at, expires_at }: { revoked_at: number | null; expires_at: number | null }): string {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && expires_at <= systemClock.now() ? 'expired' : 'live'
}
