import { Readable } from 'node:stream'
import {
  EXPORT_COLUMNS,
  type ExportColumn,
  type ExportFormat,
  type ExportQuery,
  MAX_EXPORT_COLUMNS,
  type SelectedExport,
} from '#contract/export.ts'
import { fieldError } from '#contract/field-errors.ts'
import { METADATA_PARAMETER, METADATA_PREFIX, metadataValue } from '#contract/labels.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { recordName } from '#contract/wording.ts'
import type { Tenant } from '../../context.ts'
import type { Page } from '../../database/pagination.ts'
import type { Deps } from '../../deps.ts'
import { toCsv } from '../../http/csv.ts'
import { invalid } from '../../problem.ts'
import { absoluteHost, parsePastedText, toQuotedStrings } from '../../record-types/presentation.ts'
import { findZoneType } from '../../record-types/record-types.ts'
import { inclusionOf, type MonitorResponseRow, toMonitor } from '../monitor.ts'
import { getMonitors } from '../store.ts'
import { listMonitors } from './list.ts'

/** Of monitors that have 320 KiB each in the worst case. */
const BATCH_SIZE = 100
const WRITERS: Record<ExportFormat, () => Writer> = {
  json: jsonWriter,
  csv: () => csvWriter(COLUMNS),
  zone: zoneWriter,
}
const INCLUDED = inclusionOf(['frequency', 'resolution', 'group', 'external_id', 'tags', 'metadata'])

const METADATA_COLUMN = new RegExp(METADATA_PARAMETER)

export type Export = { fileName: string; type: string; content: Readable }
type ExportDeps = Pick<Deps, 'readList' | 'keyring'>
type Batch = Pick<Page<MonitorResponseRow>, 'data' | 'after'>

/** All monitors of the query, read page by page as the client receives them. Throws what the list throws, before the first byte. */
export async function exportMonitors(
  { readList, keyring }: ExportDeps,
  tenant: Tenant,
  { format, columns, ...filters }: ExportQuery,
): Promise<Export> {
  const writer = writerOf(format, columns)
  const order = format === 'zone' ? { order_by: 'domain' as const } : {}
  return await newExport(writer, (after) =>
    readList(tenant, (db) => {
      const query = { ...order, ...filters, limit: BATCH_SIZE, ...(after === undefined ? {} : { after }) }
      return listMonitors(db, keyring, tenant, { query, included: INCLUDED })
    }),
  )
}

/** The existing monitors of the request, in its order. */
export async function exportSelected(
  { readList }: ExportDeps,
  tenant: Tenant,
  { format, columns, monitors }: SelectedExport,
): Promise<Export> {
  const ids = [...new Set(monitors)]
  return await newExport(writerOf(format, columns), async (after = '0') => {
    const end = Number(after) + BATCH_SIZE
    const batch = ids.slice(Number(after), end)
    const data = await readList(tenant, (db) => getMonitors(db, tenant, batch, INCLUDED))
    return { data, after: end < ids.length ? String(end) : null }
  })
}

async function newExport(writer: Writer, read: (after?: string) => Promise<Batch>): Promise<Export> {
  const first = await read()
  const { fileName, type } = writer
  return { fileName, type, content: Readable.from(writeAll(writer, first, read), { objectMode: false }) }
}

async function* writeAll(
  { begin, writeBatch, end }: Writer,
  first: Batch,
  read: (after: string) => Promise<Batch>,
): AsyncGenerator<string> {
  yield begin
  for (let page = first; ; page = await read(page.after!)) {
    if (page.data.length > 0) yield writeBatch(page.data.map((row) => toMonitor(row, INCLUDED)))
    if (page.after === null) break
  }
  if (end !== '') yield end
}

/** The default is CSV with columns, JSON without. Throws a 400 for unknown columns. */
function writerOf(format: ExportFormat | undefined, columns: string | undefined): Writer {
  if (columns === undefined) return WRITERS[format ?? 'json']()
  if (format !== undefined && format !== 'csv') throw invalid({ columns: fieldError('format_without_columns') })
  return csvWriter(parseColumns(columns))
}

/** Writes one export: `begin`, then the monitors in batches, then `end`. */
type Writer = {
  fileName: string
  type: string
  begin: string
  writeBatch(monitors: readonly MonitorResponse[]): string
  end: string
}

function jsonWriter(): Writer {
  let separator = '\n'
  const write = (monitor: MonitorResponse) => {
    const text = `${separator}${JSON.stringify(monitor)}`
    separator = ',\n'
    return text
  }
  return {
    fileName: 'monitors.json',
    type: 'application/json; charset=utf-8',
    begin: '[',
    writeBatch: (monitors) => monitors.map(write).join(''),
    end: '\n]\n',
  }
}

type Columns = Record<string, (monitor: MonitorResponse) => unknown>

/** The columns that an import reads come first. */
const COLUMNS = {
  name: recordName,
  type: ({ record_type }) => record_type,
  value: ({ expected_value }) => expected_value.map(inOneLine).join('\n'),
  exact: ({ is_exact_match }) => yesOrNo(is_exact_match),
  group: ({ group }) => group,
  notify: ({ notify }) => notify,
  frequency: ({ frequency }) => frequency,
  active: ({ is_active }) => yesOrNo(is_active),
  external_id: ({ external_id }) => external_id,
  tags: ({ tags = [] }) => tags.join(','),
  metadata: ({ metadata = {} }) =>
    Object.entries(metadata)
      .map(([key, value]) => `${key}=${value}`)
      .join('\n'),
  state: ({ state }) => state,
  current_value: ({ current_value }) => current_value?.map(inOneLine).join('\n'),
  last_checked: ({ last_checked }) => last_checked,
  incidence_count: ({ incidence_count }) => incidence_count,
  created: ({ created }) => created,
  id: ({ id }) => id,
} satisfies Columns

/** The columns by the names of the API. */
const FIELDS: Record<ExportColumn, Columns[string]> = {
  ...COLUMNS,
  domain: ({ domain }) => domain,
  subdomain: ({ subdomain }) => subdomain,
  record_type: COLUMNS.type,
  expected_value: COLUMNS.value,
  is_exact_match: COLUMNS.exact,
  is_active: COLUMNS.active,
}

function parseColumns(text: string): Columns {
  const names = [...new Set(text.split(',').map((name) => name.trim()))]
  const isField = (name: string): name is ExportColumn => EXPORT_COLUMNS.some((column) => column === name)
  if (!names.every((name) => METADATA_COLUMN.test(name) || isField(name))) {
    const allowed = [...EXPORT_COLUMNS, `${METADATA_PREFIX}<key>`].join(', ')
    throw invalid({ columns: fieldError('invalid_list', { allowed }) })
  }
  if (names.length > MAX_EXPORT_COLUMNS) {
    throw invalid({ columns: fieldError('too_many', { max: MAX_EXPORT_COLUMNS }) })
  }
  const metadataColumn = (name: string) => (monitor: MonitorResponse) =>
    metadataValue(monitor.metadata, name.slice(METADATA_PREFIX.length))
  return Object.fromEntries(names.map((name) => [name, isField(name) ? FIELDS[name] : metadataColumn(name)]))
}

function csvWriter(columns: Columns): Writer {
  const cells = Object.values(columns)
  return {
    fileName: 'monitors.csv',
    type: 'text/csv; charset=utf-8',
    begin: toCsv([Object.keys(columns)]),
    writeBatch: (monitors) => toCsv(monitors.map((monitor) => cells.map((cell) => cell(monitor)))),
    end: '',
  }
}

const yesOrNo = (value: boolean) => (value ? 'yes' : 'no')

/** An import reads one value from each line of a cell, without the spaces around it. Other values are quoted as in a zone file. */
const inOneLine = (value: string) =>
  /[\r\n\u2028\u2029]/.test(value) || value.trim() !== value ? toQuotedStrings(parsePastedText(value)) : value

/** Expected values as records of RFC 1035. A value that is not a complete record is a comment. */
function zoneWriter(): Writer {
  let origin: string | undefined
  const write = (monitor: MonitorResponse) => {
    const isNewOrigin = monitor.domain !== origin
    origin = monitor.domain
    return `${isNewOrigin ? `\n$ORIGIN ${absoluteHost(origin)}\n` : ''}${recordsOf(monitor)}`
  }
  return {
    fileName: 'monitors.zone',
    type: 'text/dns; charset=utf-8',
    begin: '; Expected values of monitors. Monitors have no TTL: 3600 stands for any.\n$TTL 3600\n',
    writeBatch: (monitors) => monitors.map(write).join(''),
    end: '',
  }
}

function recordsOf(monitor: MonitorResponse): string {
  const { record_type, expected_value } = monitor
  const isSpf = record_type === 'SPF'
  const type = isSpf ? 'TXT' : record_type
  const toZoneFile = findZoneType(type)!.recordType.toZoneFile
  const owner = absoluteHost(recordName(monitor))
  return expected_value
    .map((value) => {
      const data = isSpf ? toQuotedStrings(value) : toZoneFile(value)
      if (data !== undefined) return `${owner} IN ${type} ${data}\n`
      // Only visible ASCII, so that a value cannot end the comment.
      return `; ${owner} ${type} ${value.replace(/[^\x20-\x7e]/g, '?')} is not a complete record.\n`
    })
    .join('')
}
