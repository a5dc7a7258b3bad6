import type { Acceptance, ValueDifference } from '#contract/dashboard.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { CnameChain, Exchange } from '../dns/outcome.ts'
import { conflict } from '../problem.ts'
import { recordTypeOf } from '../record-types/record-types.ts'
import { acceptCurrentValues } from './parse-monitor.ts'
import { recordToPaste } from './record-to-paste.ts'
import { getMonitor, lockMonitor } from './store.ts'
import { updateMonitor } from './update.ts'

/** Which expected values are missing and which current values are extra. Throws `not_found`. */
export async function differenceOf(db: Database, tenant: Tenant, id: string): Promise<ValueDifference> {
  const row = await getMonitor(db, tenant, id)
  const recordType = row.record_type as MonitorRecordType
  if (row.current_values === null) return { missing: [], extra: [], record: recordToPaste(row, []) }
  const [expected, current]: string[][] = [JSON.parse(row.expected_values), JSON.parse(row.current_values)]
  const chain = recordType === 'CNAME' ? chainOf(row.diagnosis ?? null) : []
  const difference = recordTypeOf(recordType).difference(expected!, current!, row.is_exact_match === 1, chain)
  return { ...difference, record: recordToPaste(row, difference.missing) }
}

/** The CNAME chain, which only the evidence has. */
function chainOf(diagnosis: string | null): CnameChain {
  const paths: Exchange[] = diagnosis === null ? [] : JSON.parse(diagnosis).paths
  return paths.flatMap(({ outcome }) =>
    outcome?.kind !== 'answer' || outcome.rrset.type !== 'CNAME'
      ? []
      : [...outcome.rrset.values.map((target) => ({ name: outcome.rrset.name, target, ttl: 0 })), ...outcome.chain],
  )
}

/**
 * Sets the current values as the expected ones, in the same mode. Throws `not_found`, and 409 if there are no current values, or
 * other ones than the caller saw.
 */
export async function acceptCurrent(
  db: Database,
  context: RequestContext,
  { monitor, current_value: seen }: { monitor: string } & Acceptance,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const row = await lockMonitor(transaction, context, monitor)
    const accepting = acceptCurrentValues(row)
    if (!accepting.ok) throw conflict(accepting.reason)
    if (seen !== undefined && JSON.stringify(seen) !== row.current_values) {
      throw conflict('The record has changed since you loaded the page. Reload before you accept it.')
    }
    await updateMonitor(transaction, context, monitor, accepting.change)
  })
}
