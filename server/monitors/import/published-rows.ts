import type { MonitorRecordType } from '#contract/record-types.ts'
import { expectationOf } from '../../record-types/record-types.ts'
import { type LookupDeps, queryTypes } from './lookup.ts'
import type { InputRow } from './rows.ts'

/** Of one import. A lookup takes at most 5 s. */
const MAX_LOOKUPS = 50
const LOOKUPS_AT_ONCE = 10

const CAUSES = {
  proxied: 'The provider proxies this record',
  flattened: 'The provider answers for this CNAME with the addresses of its target',
}

/** Replaces each row that the provider does not publish as it is written by the published records, with the reason. */
export async function withPublishedRows(deps: LookupDeps, rows: readonly InputRow[]): Promise<InputRow[]> {
  const rewritten = rows.filter(({ result, rewritten }) => result === undefined && rewritten !== undefined)
  const published = new Map<InputRow, InputRow[]>()
  for (let from = 0; from < Math.min(rewritten.length, MAX_LOOKUPS); from += LOOKUPS_AT_ONCE) {
    const batch = rewritten.slice(from, Math.min(from + LOOKUPS_AT_ONCE, MAX_LOOKUPS))
    const results = await Promise.all(batch.map((row) => publishedRows(deps, row)))
    for (const [index, row] of batch.entries()) published.set(row, results[index]!)
  }
  return rows.flatMap((row) => {
    if (row.result !== undefined || row.rewritten === undefined) return [row]
    const found = published.get(row) ?? []
    if (found.length > 0) return found
    const reason = `${CAUSES[row.rewritten]}, and the published records were not found. Create the monitor from the live records of the name.`
    return [{ ...row, result: 'skip' as const, code: 'not_published' as const, reason }]
  })
}

async function publishedRows(deps: LookupDeps, row: InputRow): Promise<InputRow[]> {
  const types: MonitorRecordType[] = row.type === 'A' || row.type === 'AAAA' ? [row.type] : ['A', 'AAAA']
  const results = await queryTypes(deps, row.name.replace(/\.$/, '').toLowerCase(), types)
  return results.flatMap(({ record_type: type, values: observed }) => {
    if (observed.length === 0) return []
    const { values, isExact } = expectationOf(type, observed)
    const reason = `${CAUSES[row.rewritten!]}. These are the published records; the file has ${row.type} ${row.values[0]!.replace(/\.$/, '')}.`
    return [{ ...row, type, values, isExact, reason }]
  })
}
