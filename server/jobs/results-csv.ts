import type { Readable } from 'node:stream'
import type { JobResult, ResultState } from '#contract/jobs.ts'
import type { Tenant } from '../context.ts'
import type { Deps } from '../deps.ts'
import { streamCsv } from '../http/csv.ts'
import { listResults } from './store.ts'

const COLUMNS = ['id', 'name', 'state', 'code', 'error', 'fields', 'before', 'after']

/** The results of a job as RFC 4180 text. Throws `not_found`. */
export const resultsCsv = (
  { readList, keyring }: Pick<Deps, 'readList' | 'keyring'>,
  tenant: Tenant,
  { job, state }: { job: string; state?: ResultState },
): Promise<Readable> =>
  streamCsv({
    columns: COLUMNS,
    cellsOf,
    readPage: (limit, after) => {
      const query = { limit, ...(state === undefined ? {} : { state }), ...(after === undefined ? {} : { after }) }
      return readList(tenant, (db) => listResults(db, keyring, tenant, { job, query }))
    },
    limitNote: (maxRows) => `The export is limited to ${maxRows} results. GET /jobs/{job}/results lists all of them.`,
  })

function cellsOf({ id, name, state, code, error, errors, field_codes: codes, before, after }: JobResult): unknown[] {
  const fields = Object.entries(errors ?? {}).map(([field, sentence]) => {
    const fieldCode = codes?.[field]
    return `${field}${fieldCode ? ` (${fieldCode})` : ''}: ${sentence}`
  })
  const json = (value: unknown) => (value === null ? '' : JSON.stringify(value))
  return [id, name, state, code, error, fields.join('\n'), json(before), json(after)]
}
