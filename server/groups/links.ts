import { sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import { MAX_GROUPS } from '#contract/webhooks.ts'
import type { Tenant } from '../context.ts'
import { deleteEach, insertEach, isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { advisoryLock } from '../database/dialect.ts'
import { type FieldErrors, throwIfInvalid } from '../problem.ts'

/** How many webhooks one group may have: the setting `WEBHOOKS_PER_GROUP`. */
export type LinkLimits = { webhooksPerGroup: number }

/** For changes that no caller requested. */
export const NO_LIMITS: LinkLimits = { webhooksPerGroup: Number.POSITIVE_INFINITY }

/** Whose links they are. */
type Side = 'group' | 'webhook'
/** The column of the side, and that of the other one. */
const COLUMNS = { group: ['group_id', 'webhook_id'], webhook: ['webhook_id', 'group_id'] } as const

/** The ids of the webhooks of each of these groups, or of the groups of each of these webhooks, sorted. */
export async function readLinks(
  db: Database,
  { organizationId }: Tenant,
  side: Side,
  ids: readonly string[],
): Promise<Map<string, string[]>> {
  if (ids.length === 0) return new Map()
  const [column, otherColumn] = COLUMNS[side]
  const links = await db
    .selectFrom('group_webhooks')
    .select([`${column} as id`, `${otherColumn} as linked_id`])
    .where('organization_id', '=', organizationId)
    .where(column, 'in', ids)
    .orderBy(column)
    .orderBy(otherColumn)
    .execute()
  const byId = Map.groupBy(links, ({ id }) => id)
  return new Map([...byId].map(([id, links]) => [id, links.map(({ linked_id }) => linked_id)]))
}

type Links = {
  organizationId: string
  side: Side
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
  await advisoryLock(db, `links ${organizationId}`)
}

/**
 * Links a group to exactly these webhooks, or a webhook to exactly these groups. Writes only the differences, and returns the
 * previous links. Throws a 400 above the limits. What is above a limit already may stay or shrink, so that a response can be
 * sent back.
 */
export async function replaceLinks(db: Database, links: Links, limits: LinkLimits = NO_LIMITS): Promise<string[]> {
  const { organizationId, side, id, targets } = links
  const before = new Set((await readLinks(db, { organizationId }, side, [id])).get(id))
  const added = [...targets.keys()].filter((target) => !before.has(target))
  const removed = [...before].filter((target) => !targets.has(target))
  throwIfInvalid(await limitErrors(db, links, { added, before: before.size }, limits))
  const rowOf = (target: string) => {
    const [group_id, webhook_id] = side === 'group' ? [id, target] : [target, id]
    return { organization_id: organizationId, group_id, webhook_id }
  }
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
  const [, column] = COLUMNS[side]
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
