import type { ImportUpdated, ImportUpdates } from '#contract/dashboard.ts'
import type { RequestContext } from '../../context.ts'
import { type Database, inTransaction } from '../../database/database.ts'
import { lockMonitor } from '../../monitors/store.ts'
import { updateMonitor } from '../../monitors/update.ts'
import { conflict, fieldTexts, Problem } from '../../problem.ts'

type Update = ImportUpdates['updates'][number]

/** Gives monitors the expectation that an import found, each in a transaction of its own. */
export async function updateExpectations(
  db: Database,
  context: RequestContext,
  { updates }: ImportUpdates,
): Promise<ImportUpdated> {
  const refused: ImportUpdated['refused'] = []
  for (const update of updates) {
    const why = await updateOne(db, context, update)
    if (why !== undefined) refused.push({ id: update.id, why })
  }
  return { updated: updates.length - refused.length, refused }
}

/** Why it was not updated; undefined where it was. */
async function updateOne(
  db: Database,
  context: RequestContext,
  { id, was, full_domain, ...change }: Update,
): Promise<string | undefined> {
  try {
    await inTransaction(db, async (transaction) => {
      const row = await lockMonitor(transaction, context, id)
      const isSame =
        row.is_exact_match === (was.is_exact_match ? 1 : 0) &&
        row.expected_values === JSON.stringify(was.expected_value)
      if (!isSame) throw conflict('The monitor has changed since the preview. Preview the import again.')
      // The same name stays split as it is.
      const isRenamed = full_domain !== undefined && full_domain !== row.owner
      await updateMonitor(transaction, context, id, { ...change, ...(isRenamed ? { full_domain } : {}) })
    })
    return undefined
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    if (error.status === 404) return 'The monitor was deleted since the preview.'
    return error.status === 400 ? Object.values(fieldTexts(error.errors ?? {})).join(' ') : error.message
  }
}
