import type { ImportUpdated, ImportUpdates } from '#contract/dashboard.ts'
import type { ImportReason } from '#contract/import-codes.ts'
import type { RequestContext } from '../../context.ts'
import { type Database, inTransaction } from '../../database/database.ts'
import { fieldTexts, Problem } from '../../problem.ts'
import { lockMonitor } from '../store.ts'
import { updateMonitor } from '../update.ts'

type Update = ImportUpdates['updates'][number]

/** Sets the expected values from an import, each monitor in a separate transaction. */
export async function updateExpectations(
  db: Database,
  context: RequestContext,
  { updates }: ImportUpdates,
): Promise<ImportUpdated> {
  const refused: ImportUpdated['refused'] = []
  for (const update of updates) {
    const reason = await updateOne(db, context, update)
    if (reason) refused.push({ id: update.id, ...reason })
  }
  return { updated: updates.length - refused.length, refused }
}

/** Returns why the monitor was not updated, or undefined. */
async function updateOne(
  db: Database,
  context: RequestContext,
  { id, was, full_domain, ...change }: Update,
): Promise<{ code: ImportReason; reason: string } | undefined> {
  try {
    return await inTransaction(db, async (transaction) => {
      const row = await lockMonitor(transaction, context, id)
      const isSame =
        row.is_exact_match === (was.is_exact_match ? 1 : 0) &&
        row.expected_values === JSON.stringify(was.expected_value)
      if (!isSame) return CHANGED
      // An unchanged name keeps its division into domain and subdomain.
      const isRenamed = full_domain !== undefined && full_domain !== row.owner
      await updateMonitor(transaction, context, id, { ...change, ...(isRenamed ? { full_domain } : {}) })
      return undefined
    })
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { status, code, message, errors = {} } = error
    if (status === 404) return { code, reason: 'The monitor was deleted since the preview.' }
    if (status === 402) return { code: 'plan_limit', reason: message }
    const [first] = Object.values(errors)
    return first ? { code: first.code, reason: Object.values(fieldTexts(errors)).join(' ') } : { code, reason: message }
  }
}

const CHANGED = {
  code: 'changed_since_preview',
  reason: 'The monitor has changed since the preview. Preview the import again.',
} as const
