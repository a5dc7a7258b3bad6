import { sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import { MOST_GROUPS } from '#contract/webhooks.ts'
import { deleteEach, insertEach, isOneOf } from '../database/bulk.ts'
import { type Database, engineOf } from '../database/database.ts'
import { type FieldErrors, refuse } from '../problem.ts'

/** How many webhooks one group may have. Plain data, and the server's own: see `WEBHOOKS_PER_GROUP`. */
export type LinkLimits = { webhooksPerGroup: number }

/** Where links are not made for a caller, or taken away. */
export const NO_LIMITS: LinkLimits = { webhooksPerGroup: Number.POSITIVE_INFINITY }

type Side = 'group' | 'webhook'
type Links = {
  organizationId: string
  /** Whose links are replaced. */
  side: Side
  id: string
  /** What it is to be linked to, by id, and the field that names each. */
  wanted: ReadonlyMap<string, string>
}

const KEY = { organization_id: 'text', group_id: 'text', webhook_id: 'text' } as const

/**
 * Lets one transaction at a time change links of the organization, before it locks a group or a webhook: from either side
 * it changes rows of both.
 */
export async function lockLinks(db: Database, organizationId: string): Promise<void> {
  if (engineOf(db) === 'sqlite') return
  await sql`select pg_advisory_xact_lock(hashtextextended(${`links ${organizationId}`}, 0))`.execute(db)
}

/**
 * Links a group to exactly these webhooks, or a webhook to exactly these groups. Writes only what differs. What exceeds a
 * limit already may stay or become less, so that what was read can be sent back. Returns the previous links. Throws a 400 for more than the limits.
 */
export async function replaceLinks(db: Database, links: Links, limits: LinkLimits = NO_LIMITS): Promise<string[]> {
  const { organizationId, side, id, wanted } = links
  const [own, other] = side === 'group' ? (['group_id', 'webhook_id'] as const) : (['webhook_id', 'group_id'] as const)
  const rows = await db
    .selectFrom('group_webhooks')
    .select(`${other} as id`)
    .where('organization_id', '=', organizationId)
    .where(own, '=', id)
    .orderBy(other)
    .execute()
  const before = new Set(rows.map((row) => row.id))
  const added = [...wanted.keys()].filter((each) => !before.has(each))
  refuse(await refusalsOf(db, links, { added, before: before.size }, limits))
  const rowOf = (each: string) => ({ organization_id: organizationId, [own]: id, [other]: each })
  const removed = [...before].filter((each) => !wanted.has(each))
  await deleteEach(db, { table: 'group_webhooks', key: KEY }, removed.map(rowOf))
  await insertEach(db, 'group_webhooks', KEY, added.map(rowOf))
  await countChange(db, organizationId, side === 'group' ? 'webhooks' : 'groups', [...added, ...removed])
  return [...before]
}

/** What the other side shows of its links has changed too. */
async function countChange(db: Database, organizationId: string, table: 'groups' | 'webhooks', ids: string[]) {
  if (ids.length === 0) return
  await sql`update ${sql.table(table)} set version = version + 1
    where organization_id = ${organizationId} and ${isOneOf(db, 'id', ids)}`.execute(db)
}

async function refusalsOf(
  db: Database,
  { organizationId, side, wanted }: Links,
  { added, before }: { added: string[]; before: number },
  { webhooksPerGroup }: LinkLimits,
): Promise<FieldErrors> {
  const errors: FieldErrors = {}
  const [field, most, mostOfOther] =
    side === 'group'
      ? (['webhooks', webhooksPerGroup, MOST_GROUPS] as const)
      : (['groups', MOST_GROUPS, webhooksPerGroup] as const)
  if (wanted.size > most && wanted.size > before) {
    errors[field] = fieldError('too_many_links', { count: wanted.size, max: most })
  }
  const column = side === 'group' ? 'webhook_id' : 'group_id'
  const counts = await db
    .selectFrom('group_webhooks')
    .select([column, (of) => of.fn.countAll<number>().as('count')])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, column, added))
    .groupBy(column)
    .execute()
  for (const { [column]: id, count } of counts) {
    if (count < mostOfOther) continue
    errors[wanted.get(id)!] =
      side === 'group'
        ? fieldError('webhook_has_most_groups', { count })
        : fieldError('group_has_most_webhooks', { count })
  }
  return errors
}
