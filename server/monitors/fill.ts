import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, engineOf, forUpdate, inTransaction, runForEach } from '../database/database.ts'
import { NEXT_NUMBER, nameOrder, searchText } from '../database/monitor-texts.ts'
import { runEvery } from '../database/worker-loop.ts'

type FillDeps = { db: Database; clock: Clock; log: Logger }

/** A few milliseconds of the event loop. */
const AT_ONCE = 100
/** After each batch, so that anyone who waits for the database comes first. */
const PAUSE_MS = 20
const EVERY_MS = 60_000

/** Adds to monitors of a version before what triggers add to others, in small batches, until all have it. Runs until `stop`. */
export async function runBackfills(deps: FillDeps, stop: AbortSignal): Promise<void> {
  const filled = new AbortController()
  await runEvery(EVERY_MS, deps, AbortSignal.any([stop, filled.signal]), {
    failure: 'The search index or the order of names could not be completed. The next attempt is in a minute.',
    work: async () => {
      while (!stop.aborted && !filled.signal.aborted) {
        if ((await backfillTexts(deps.db)) || (await backfillNameOrders(deps.db)))
          await deps.clock.sleep(PAUSE_MS, stop)
        else filled.abort()
      }
    },
  })
}

/** False where none is left. */
export const backfillTexts = (db: Database) => fillSome(db, 'search_fill', insertTexts)

/** False where none is left. */
export const backfillNameOrders = (db: Database) => fillSome(db, 'name_order_fill', writeNameOrders)

type Fill = (db: Database, ids: readonly string[]) => Promise<void>

async function fillSome(db: Database, table: 'search_fill' | 'name_order_fill', fill: Fill): Promise<boolean> {
  return await inTransaction(db, async (transaction) => {
    const at = await transaction.selectFrom(table).select('after_id').modifyEnd(forUpdate(db)).executeTakeFirst()
    if (!at) return false
    // One that is being deleted would refuse its text.
    const kept = engineOf(db) === 'postgres' ? sql`for key share` : sql``
    const { rows } = await sql<{ id: string }>`select id from monitors where id > ${at.after_id}
      order by id limit ${AT_ONCE} ${kept}`.execute(transaction)
    const ids = rows.map(({ id }) => id)
    if (ids.length > 0) await fill(transaction, ids)
    if (ids.length < AT_ONCE) await transaction.deleteFrom(table).execute()
    else
      await transaction
        .updateTable(table)
        .set({ after_id: ids.at(-1)! })
        .execute()
    return ids.length === AT_ONCE
  })
}

async function writeNameOrders(db: Database, ids: readonly string[]): Promise<void> {
  const order = sql.raw(nameOrder('owner', { ENGINE: engineOf(db) }))
  await sql`update monitors set name_order = ${order} where ${isOneOf(db, 'id', ids)} and name_order is null`.execute(
    db,
  )
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
