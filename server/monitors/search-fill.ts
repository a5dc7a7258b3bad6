import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import { type Database, engineOf, forUpdate, inTransaction, runForEach } from '../database/database.ts'
import { NEXT_NUMBER, searchText } from '../database/migrations/0020-search.ts'
import { runEvery } from '../database/worker-loop.ts'

type FillDeps = { db: Database; clock: Clock; log: Logger }

/** A few milliseconds of the event loop. */
const AT_ONCE = 100
/** After each batch, so that anyone who waits for the database comes first. */
const PAUSE_MS = 20
const EVERY_MS = 60_000

/** Makes monitors of a version before known to the search, in small batches, until all are. Runs until `stop`. */
export async function runSearchFill(deps: FillDeps, stop: AbortSignal): Promise<void> {
  const filled = new AbortController()
  await runEvery(EVERY_MS, deps, AbortSignal.any([stop, filled.signal]), {
    failure: 'Monitors could not be added to the search index. The next attempt is in a minute.',
    work: async () => {
      while (!stop.aborted && !filled.signal.aborted) {
        if (await fillSome(deps.db)) await deps.clock.sleep(PAUSE_MS, stop)
        else filled.abort()
      }
    },
  })
}

/** False where none is left. */
export async function fillSome(db: Database): Promise<boolean> {
  return await inTransaction(db, async (transaction) => {
    const fill = transaction.selectFrom('search_fill').select('after_id').modifyEnd(forUpdate(db))
    const at = await fill.executeTakeFirst()
    if (!at) return false
    // One that is being deleted would refuse its text.
    const kept = engineOf(db) === 'postgres' ? sql`for key share` : sql``
    const { rows } = await sql<{ id: string }>`select id from monitors where id > ${at.after_id}
      order by id limit ${AT_ONCE} ${kept}`.execute(transaction)
    const ids = rows.map(({ id }) => id)
    if (ids.length > 0) await insertTexts(transaction, ids)
    if (ids.length < AT_ONCE) await transaction.deleteFrom('search_fill').execute()
    else
      await transaction
        .updateTable('search_fill')
        .set({ after_id: ids.at(-1)! })
        .execute()
    return ids.length === AT_ONCE
  })
}

async function insertTexts(db: Database, ids: readonly string[]): Promise<void> {
  if (engineOf(db) === 'postgres') {
    const text = sql.raw(searchText('monitors', { ENGINE: 'postgres' }))
    await sql`insert into monitor_texts (organization_id, monitor_id, text)
      select organization_id, id, ${text} from monitors where id = any(${ids}::text[]) on conflict do nothing`.execute(
      db,
    )
    return
  }
  const statement = `insert into monitor_texts (number, organization_id, monitor_id, text)
    select ${NEXT_NUMBER('monitors.organization_id')}, organization_id, id, ${searchText('monitors', { ENGINE: 'sqlite' })}
      from monitors where id = ? on conflict do nothing`
  await runForEach(
    db,
    statement,
    ids.map((id) => [id]),
  )
}
