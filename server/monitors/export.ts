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
import type { Tenant } from '../context.ts'
import type { Deps } from '../deps.ts'
import { csvText } from '../http/csv.ts'
import type { Page } from '../http/pagination.ts'
import { invalid } from '../problem.ts'
import { listMonitors } from './list.ts'
import { inclusionOf, type MonitorResponseRow, toMonitor } from './monitor.ts'
import { absoluteHost, quotedStringsOf, readPasted } from './record-types/presentation.ts'
import { findZonedType } from './record-types/record-types.ts'
import { getMonitors } from './store.ts'

/** Monitors that are read at a time. */
const AT_ONCE = 500
const WRITERS: Record<ExportFormat, () => Writer> = {
  json: jsonWriter,
  csv: () => csvWriter(COLUMNS),
  zone: zoneWriter,
}
const INCLUDED = inclusionOf(['frequency', 'group', 'external_id', 'tags', 'metadata'])

const METADATA = new RegExp(METADATA_PARAMETER)

export type Export = { name: string; type: string; content: Readable }
type Reading = Pick<Deps, 'readList' | 'seal'>
type Part = Pick<Page<MonitorResponseRow>, 'data' | 'after'>

/**
 * What GET /monitors lists for the query, all of it, page by page as the reader takes it. Throws what the list throws before the
 * first line.
 */
export async function exportMonitors(
  { readList, seal }: Reading,
  tenant: Tenant,
  { format, columns, ...given }: ExportQuery,
): Promise<Export> {
  const writer = writerOf(format, columns)
  const query = format === 'zone' ? { order_by: 'domain' as const, ...given } : given
  return await exported(writer, (after) =>
    readList(tenant, (db) => {
      const wanted = { ...query, limit: AT_ONCE, ...(after === undefined ? {} : { after }) }
      return listMonitors(db, seal, tenant, { query: wanted, included: INCLUDED })
    }),
  )
}

/** Those of the monitors that there still are, in the order given. */
export async function exportSelected(
  { readList }: Reading,
  tenant: Tenant,
  { format, columns, monitors }: SelectedExport,
): Promise<Export> {
  const ids = [...new Set(monitors)]
  return await exported(writerOf(format, columns), async (after = '0') => {
    const end = Number(after) + AT_ONCE
    const some = ids.slice(Number(after), end)
    const data = await readList(tenant, (db) => getMonitors(db, tenant, some, INCLUDED))
    return { data, after: end < ids.length ? String(end) : null }
  })
}

async function exported(writer: Writer, read: (after?: string) => Promise<Part>): Promise<Export> {
  const first = await read()
  const { name, type } = writer
  return { name, type, content: Readable.from(written(writer, first, read), { objectMode: false }) }
}

async function* written(
  { begin, some, end }: Writer,
  first: Part,
  read: (after: string) => Promise<Part>,
): AsyncGenerator<string> {
  yield begin
  for (let page = first; ; page = await read(page.after!)) {
    if (page.data.length > 0) yield some(page.data.map((row) => toMonitor(row, INCLUDED)))
    if (page.after === null) break
  }
  if (end !== '') yield end
}

/** With columns it is a CSV, else JSON. Throws a 400 for columns that there are not. */
function writerOf(format: ExportFormat | undefined, columns: string | undefined): Writer {
  if (columns === undefined) return WRITERS[format ?? 'json']()
  if (format !== undefined && format !== 'csv') throw invalid({ columns: fieldError('format_without_columns') })
  return csvWriter(chosenColumns(columns))
}

/** How an export is written: before its monitors, a part of them, and after them. Each writer is for one export. */
type Writer = {
  /** Of the download. */
  name: string
  type: string
  begin: string
  some(monitors: readonly MonitorResponse[]): string
  end: string
}

function jsonWriter(): Writer {
  let isFirst = true
  const one = (monitor: MonitorResponse) => {
    const text = `${isFirst ? '\n' : ',\n'}${JSON.stringify(monitor)}`
    isFirst = false
    return text
  }
  const some = (monitors: readonly MonitorResponse[]) => monitors.map(one).join('')
  return { name: 'monitors.json', type: 'application/json; charset=utf-8', begin: '[', some, end: '\n]\n' }
}

type Columns = Record<string, (monitor: MonitorResponse) => unknown>

/** What an import reads comes first. */
const COLUMNS = {
  name: ownerOf,
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

/** The same by the names of the API. */
const FIELDS: Record<ExportColumn, Columns[string]> = {
  ...COLUMNS,
  domain: ({ domain }) => domain,
  subdomain: ({ subdomain }) => subdomain,
  record_type: COLUMNS.type,
  expected_value: COLUMNS.value,
  is_exact_match: COLUMNS.exact,
  is_active: COLUMNS.active,
}

function chosenColumns(text: string): Columns {
  const names = [...new Set(text.split(',').map((name) => name.trim()))]
  const isField = (name: string): name is ExportColumn => EXPORT_COLUMNS.some((each) => each === name)
  if (!names.every((name) => METADATA.test(name) || isField(name))) {
    const allowed = [...EXPORT_COLUMNS, `${METADATA_PREFIX}<key>`].join(', ')
    throw invalid({ columns: fieldError('invalid_list', { allowed }) })
  }
  if (names.length > MAX_EXPORT_COLUMNS) {
    throw invalid({ columns: fieldError('too_many', { max: MAX_EXPORT_COLUMNS }) })
  }
  const ofMetadata = (name: string) => (monitor: MonitorResponse) =>
    metadataValue(monitor.metadata, name.slice(METADATA_PREFIX.length))
  return Object.fromEntries(names.map((name) => [name, isField(name) ? FIELDS[name] : ofMetadata(name)]))
}

function csvWriter(columns: Columns): Writer {
  const cells = Object.values(columns)
  return {
    name: 'monitors.csv',
    type: 'text/csv; charset=utf-8',
    begin: csvText([Object.keys(columns)]),
    some: (monitors) => csvText(monitors.map((monitor) => cells.map((cell) => cell(monitor)))),
    end: '',
  }
}

const yesOrNo = (is: boolean) => (is ? 'yes' : 'no')

/** A cell has one value a line, and spaces around it do not count: others are quoted as in a zone file. */
const inOneLine = (value: string) =>
  /[\r\n\u2028\u2029]/.test(value) || value.trim() !== value ? quotedStringsOf(readPasted(value)) : value

function ownerOf({ subdomain, domain }: MonitorResponse): string {
  return [subdomain, domain].filter((part) => part !== '').join('.')
}

/** Expected values as records of RFC 1035. What leaves a part of its record open is a comment. */
function zoneWriter(): Writer {
  let zone: string | undefined
  const one = (monitor: MonitorResponse) => {
    const isNext = monitor.domain !== zone
    zone = monitor.domain
    return `${isNext ? `\n$ORIGIN ${absoluteHost(monitor.domain)}\n` : ''}${recordsOf(monitor)}`
  }
  return {
    name: 'monitors.zone',
    type: 'text/dns; charset=utf-8',
    begin: '; Expected values of monitors. Monitors have no TTL: 3600 stands for any.\n$TTL 3600\n',
    some: (monitors) => monitors.map(one).join(''),
    end: '',
  }
}

function recordsOf(monitor: MonitorResponse): string {
  const { record_type, expected_value } = monitor
  const isSpf = record_type === 'SPF'
  const type = isSpf ? 'TXT' : record_type
  const toZoneFile = findZonedType(type)!.recordType.toZoneFile
  const owner = absoluteHost(ownerOf(monitor))
  return expected_value
    .map((value) => {
      const data = isSpf ? quotedStringsOf(value) : toZoneFile(value)
      if (data !== undefined) return `${owner} IN ${type} ${data}\n`
      // Of these only visible ASCII is left, so that no line begins in a comment.
      return `; ${owner} ${type} ${value.replace(/[^\x20-\x7e]/g, '?')} is not a complete record.\n`
    })
    .join('')
}
