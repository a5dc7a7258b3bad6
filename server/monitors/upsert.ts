import type { MonitorUpsert } from '#contract/monitors.ts'
import type { RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { lockOrganization } from '../database/organization-lock.ts'
import { type Match, stale } from '../database/versions.ts'
import { takenExternalIds } from '../groups/labels.ts'
import type { Quota } from '../organization/quota.ts'
import type { Seal } from '../seal.ts'
import { insertMonitors } from './insert.ts'
import type { MonitorDraft } from './monitor.ts'
import { updateMonitor } from './update.ts'

/** `given`: what was sent. `draft`: the same as a monitor to make. */
export type Upsert = {
  externalId: string
  given: MonitorUpsert
  draft: MonitorDraft
  quota: Quota | undefined
  seal: Seal
}

/**
 * Makes the monitor, or changes the one that has the external id: of two requests at the same time one makes it. Throws a 412
 * for a version that it does not have, also where there is none.
 */
export async function upsertMonitor(
  db: Database,
  context: RequestContext,
  { externalId, given, draft, quota, seal }: Upsert,
  match: Match,
): Promise<{ id: string; isNew: boolean }> {
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, context.organizationId)
    const id = (await takenExternalIds(transaction, context, 'monitors', [externalId])).get(externalId)
    if (id !== undefined) {
      await updateMonitor(transaction, context, id, given, { match, seal })
      return { id, isNew: false }
    }
    if (match !== undefined) throw stale()
    const labels = { ...draft.labels, external_id: externalId }
    const [made] = await insertMonitors(transaction, context, [{ ...draft, labels }], { quota, seal })
    return { id: made!.id, isNew: true }
  })
}
