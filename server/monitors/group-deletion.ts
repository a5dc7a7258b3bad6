import { GroupDeletion, MAX_DELETED_WITH_GROUP } from '#contract/groups.ts'
import type { RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import type { Match } from '../database/versions.ts'
import type { Deps } from '../deps.ts'
import { deleteEmptyGroup, deleteGroup, getDeletableGroup, groupBeingFilled } from '../groups/delete.ts'
import { lockLinks } from '../groups/links.ts'
import { NoContent, Params, Responses, type Routes } from '../http/routes.ts'
import { conflict } from '../problem.ts'
import { countDeletable, deleteMonitors } from './delete.ts'

export function groupDeletionRoute({ db }: Deps): Routes {
  return async (app) => {
    app.delete(
      '/groups/:group',
      {
        config: { takesIfMatch: true },
        schema: {
          operationId: 'deleteGroup',
          summary: 'Delete a group',
          tags: ['Groups'],
          description: `Moves the monitors of the group to the default group. With \`?monitors=delete\`, deletes them with the group. Returns 409 and deletes nothing if there are more than ${MAX_DELETED_WITH_GROUP} monitors or a long history of events; delete these first with POST /jobs. The default group cannot be deleted (409).`,
          params: Params('group'),
          querystring: GroupDeletion,
          response: Responses(204, NoContent),
        },
      },
      async ({ params, query, context, match }, reply) => {
        const remove = query.monitors === 'delete' ? deleteGroupWithMonitors : deleteGroup
        await remove(db, context, params.group, match)
        return reply.code(204).send(null)
      },
    )
  }
}

/** In one transaction. Throws `not_found`, 412, and 409 for the default group and for too many monitors or events. */
async function deleteGroupWithMonitors(
  db: Database,
  context: RequestContext,
  idOrSlug: string,
  match: Match,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    await lockLinks(transaction, context.organizationId)
    const { id, slug } = await getDeletableGroup(transaction, context, idOrSlug, match)
    const rows = await transaction
      .selectFrom('monitors')
      .selectAll()
      .where('organization_id', '=', context.organizationId)
      .where('group_id', '=', id)
      .orderBy('id')
      .limit(MAX_DELETED_WITH_GROUP + 1)
      .modifyEnd(forUpdate(transaction))
      .execute()
    const isTooMany = rows.length > MAX_DELETED_WITH_GROUP
    // `countDeletable` can delete some events; the transaction is then rolled back.
    if (isTooMany || (await countDeletable(transaction, context, rows)) < rows.length) throw tooMany(slug)
    if (rows.length > 0) await deleteMonitors(transaction, context, rows, context.now)
    const ids = rows.map((row) => row.id)
    if (!(await deleteEmptyGroup(transaction, context, id, match, ids))) throw groupBeingFilled()
  })
}

const tooMany = (slug: string) =>
  conflict(
    `The group has more monitors or events than one request can delete. Delete its monitors first with POST /jobs and {"action":"delete","filter":{"group":"${slug}"}}.`,
  )
