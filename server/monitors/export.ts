import { Readable } from 'node:stream'
import type { ExportFormat, ExportQuery } from '#contract/export.ts'
import type { Tenant } from '../context.ts'
import type { Deps } from '../deps.ts'
import type { Page } from '../http/pagination.ts'
import { csvWriter, jsonWriter, type Writer, zoneWriter } from './export-text.ts'
import { listMonitors } from './list.ts'
import { inclusionOf, type ShownMonitor, toMonitor } from './monitor.ts'

/** Monitors that are read at a time. */
const AT_ONCE = 500
const WRITERS: Record<ExportFormat, () => Writer> = { json: jsonWriter, csv: csvWriter, zone: zoneWriter }
const INCLUDED = inclusionOf(['frequency', 'group', 'external_id', 'tags', 'metadata'])

export type Export = { type: string; content: Readable }

/**
 * What GET /monitors lists for the query, all of it, page by page as the reader takes it. Throws what the list throws before the
 * first line.
 */
export async function exportMonitors(
  { readList, seal }: Pick<Deps, 'readList' | 'seal'>,
  tenant: Tenant,
  { format = 'json', ...given }: ExportQuery,
): Promise<Export> {
  const query = format === 'zone' ? { order_by: 'domain' as const, ...given } : given
  const read = (after?: string) =>
    readList(tenant, (db) => {
      const wanted = { ...query, limit: AT_ONCE, ...(after === undefined ? {} : { after }) }
      return listMonitors(db, seal, tenant, { query: wanted, included: INCLUDED })
    })
  const first = await read()
  const writer = WRITERS[format]()
  return { type: writer.type, content: Readable.from(written(writer, first, read), { objectMode: false }) }
}

async function* written(
  { begin, some, end }: Writer,
  first: Page<ShownMonitor>,
  read: (after: string) => Promise<Page<ShownMonitor>>,
): AsyncGenerator<string> {
  yield begin
  for (let page = first; ; page = await read(page.after!)) {
    if (page.data.length > 0) yield some(page.data.map((row) => toMonitor(row, INCLUDED)))
    if (page.after === null) break
  }
  if (end !== '') yield end
}
