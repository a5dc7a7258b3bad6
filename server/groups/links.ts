import { sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import { MAX_GROUPS } from '#contract/webhooks.ts'
import { deleteEach, insertEach, isOneOf } from '../database/bulk.ts'
import { type Database, engineOf } from '../database/database.ts'
import { type FieldErrors, throwIfInvalid } from '../problem.ts'

/** How many webhooks one group may have: the setting `WEBHOOKS_PER_GROUP`. */
export type LinkLimits = { webhooksPerGroup: number }

/** For changes that no caller requested. */
export const NO_LIMITS: LinkLimits = { webhooksPerGroup: Number.POSITIVE_INFINITY }

type Links = {
  organizationId: string
  /** Whose links are replaced. */
  side: 'group' | 'webhook'
  id: string
  /** The ids of the other side, each with its field in the request. */
  targets: ReadonlyMap<string, string>
}

const KEY = { organization_id: 'text', group_id: 'text', webhook_id: 'text' } as const

/**
 * Lets one transaction at a time change links of the organization. Call it before a group or a webhook is locked: a change
 * from either side updates rows of both.
 */
export async function lockLinks(db: Database, organizationId: string): Promise<void> {
  if (engineOf(db) === 'sqlite') return
  await sql`select pg_advisory_xact_lock(hashtextextended(${`links ${organizationId}`}, 0))`.execute(db)
}

/**
 * Links a group to exactly these webhooks, or a webhook to exactly these groups. Writes only the differences, and returns the
 * previous links. Throws a 400 above the limits. What is above a limit already may stay or shrink, so that a response can be
 * sent back.
 */
export async function replaceLinks(db: Database, links: Links, limits: LinkLimits = NO_LIMITS): Promise<string[]> {
  const { organizationId, side, id, targets } = links
  const [column, otherColumn] =
    side === 'group' ? (['group_id', 'webhook_id'] as const) : (['webhook_id', 'group_id'] as const)
  const rows = await db
    .selectFrom('group_webhooks')
    .select(`${otherColumn} as id`)
    .where('organization_id', '=', organizationId)
    .where(column, '=', id)
    .orderBy(otherColumn)
    .execute()
  const before = new Set(rows.map((row) => row.id))
  const added = [...targets.keys()].filter((target) => !before.has(target))
  const removed = [...before].filter((target) => !targets.has(target))
  throwIfInvalid(await limitErrors(db, links, { added, before: before.size }, limits))
  const rowOf = (target: string) => ({ organization_id: organizationId, [column]: id, [otherColumn]: target })
  await deleteEach(db, { table: 'group_webhooks', key: KEY }, removed.map(rowOf))
  await insertEach(db, 'group_webhooks', KEY, added.map(rowOf))
  await incrementVersions(db, organizationId, side === 'group' ? 'webhooks' : 'groups', [...added, ...removed])
  return [...before]
}

async function limitErrors(
  db: Database,
  { organizationId, side, targets }: Links,
  { added, before }: { added: string[]; before: number },
  { webhooksPerGroup }: LinkLimits,
): Promise<FieldErrors> {
  const errors: FieldErrors = {}
  const [field, max, maxOfTarget] =
    side === 'group'
      ? (['webhooks', webhooksPerGroup, MAX_GROUPS] as const)
      : (['groups', MAX_GROUPS, webhooksPerGroup] as const)
  if (targets.size > max && targets.size > before) {
    errors[field] = fieldError('too_many_links', { count: targets.size, max })
  }
  const column = side === 'group' ? 'webhook_id' : 'group_id'
  const counts = await db
    .selectFrom('group_webhooks')
    .select([column, ({ fn }) => fn.countAll<number>().as('count')])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, column, added))
    .groupBy(column)
    .execute()
  const code = side === 'group' ? 'webhook_has_most_groups' : 'group_has_most_webhooks'
  for (const { [column]: id, count } of counts) {
    if (count >= maxOfTarget) errors[targets.get(id)!] = fieldError(code, { count })
  }
  return errors
}

/** The response of the other side shows its links too. */
async function incrementVersions(db: Database, organizationId: string, table: 'groups' | 'webhooks', ids: string[]) {
  if (ids.length === 0) return
  await sql`update ${sql.table(table)} set version = version + 1
    where organization_id = ${organizationId} and ${isOneOf(db, 'id', ids)}`.execute(db)
}
