import { fieldError } from '#contract/field-errors.ts'
import type { ImportReason } from '#contract/import-codes.ts'
import type { Metadata } from '#contract/labels.ts'
import { NOTIFY, type Notify } from '#contract/monitors.ts'
import { RECORD_TYPES } from '#contract/record-types.ts'
import { unescapeFormula } from '../../http/csv.ts'
import { invalid } from '../../problem.ts'
import { findZoneType } from '../../record-types/record-types.ts'
import { csvRecords } from './csv-records.ts'
import { exportedName, type InputRow, isUnsupported, unsupportedReason } from './rows.ts'

/** The columns and their names in other products. Other columns are ignored. */
const COLUMNS = {
  name: ['name', 'fulldomain', 'fqdn', 'host', 'hostname', 'owner', 'record', 'recordname', 'domainname'],
  domain: ['domain', 'zone'],
  subdomain: ['subdomain'],
  type: ['type', 'recordtype', 'rrtype'],
  value: ['value', 'values', 'expectedvalue', 'expected', 'content', 'data', 'rdata', 'target', 'answer', 'pointsto'],
  priority: ['priority', 'prio', 'preference', 'pref'],
  exact: ['exact', 'isexactmatch', 'exactmatch', 'mode'],
  group: ['group'],
  notify: ['notify'],
  frequency: ['frequency', 'interval', 'minutes'],
  external_id: ['externalid'],
  tags: ['tags'],
  metadata: ['metadata'],
}
type Column = keyof typeof COLUMNS
type Cells = Partial<Record<Column, string>>

const EXACT: Record<string, boolean> = {
  ...{ true: true, yes: true, '1': true, exact: true, '': true },
  ...{ false: false, no: false, '0': false, flexible: false },
}

/** The rows of the file, in its order. `origin`: the zone of relative names. Throws a 400 without column names. */
export async function* readCsv(text: string, origin: string | undefined): AsyncGenerator<InputRow> {
  let columns: (Column | undefined)[] | undefined
  for await (const { cells, line, error } of csvRecords(text.replace(/^\ufeff/, ''))) {
    if (error === undefined && cells.every((cell) => cell.trim() === '')) continue
    if (!columns) columns = columnsOf(cells)
    else if (error !== undefined) yield refused(line, {}, origin, 'invalid_csv', error)
    else if (cells.slice(columns.length).some((cell) => cell !== '')) {
      yield refused(line, named(columns, cells), origin, 'invalid_csv', surplusText(cells.length, columns.length))
    } else yield readLine(named(columns, cells), line, origin)
  }
  if (!columns) throw invalid({ csv: fieldError('csv_empty') })
}

// RFC 4180 section 2.4.
const surplusText = (cells: number, columns: number) =>
  `The line has ${cells} cells, but the first line has ${columns} columns. Put a value with a separator in quotation marks.`

function columnsOf(cells: readonly string[]): (Column | undefined)[] {
  const columns = cells.map((cell) => {
    const plain = cell.toLowerCase().replace(/[^a-z]/g, '')
    return (Object.keys(COLUMNS) as Column[]).find((column) => COLUMNS[column].includes(plain))
  })
  const missing = [
    ...(columns.includes('name') || columns.includes('domain') ? [] : ['name']),
    ...(['type', 'value'] as const).filter((column) => !columns.includes(column)),
  ]
  if (missing.length > 0) {
    throw invalid({ csv: fieldError('csv_columns_missing', { missing: missing.join(', ') }) })
  }
  return columns
}

/** If two columns mean the same, the first one counts. */
function named(columns: readonly (Column | undefined)[], cells: readonly string[]): Cells {
  const read: Cells = {}
  columns.forEach((column, index) => {
    if (column) read[column] ??= unescapeFormula(cells[index]?.trim() ?? '')
  })
  return read
}

function readLine(cells: Cells, line: number, origin: string | undefined): InputRow {
  const type = (cells.type ?? '').toUpperCase()
  const isExact = EXACT[(cells.exact ?? '').toLowerCase()]
  const notify = NOTIFY.find((value) => value === (cells.notify || 'immediately').toLowerCase())
  const frequency = cells.frequency ? Number(cells.frequency) : undefined
  if (type === '') return refused(line, cells, origin, 'required', 'The type is empty.')
  if (!RECORD_TYPES.some((recordType) => recordType === type)) {
    if (isUnsupported(type))
      return { ...refused(line, cells, origin, 'not_monitored', unsupportedReason(type)), result: 'skip' }
    return refused(
      line,
      cells,
      origin,
      'unknown_type',
      `The type "${type}" is unknown. Use one of ${RECORD_TYPES.join(', ')}.`,
    )
  }
  const { skipped } = findZoneType(type)?.recordType ?? {}
  if (skipped !== undefined && isExact)
    return { ...refused(line, cells, origin, 'not_monitored', skipped), result: 'skip' }
  if (isExact === undefined)
    return refused(line, cells, origin, 'invalid_choice', `exact must be yes or no, not "${cells.exact}".`)
  if (!notify)
    return refused(
      line,
      cells,
      origin,
      'invalid_choice',
      `notify must be one of ${NOTIFY.join(', ')}, not "${cells.notify}".`,
    )
  if (frequency !== undefined && !(Number.isInteger(frequency) && frequency >= 5 && frequency <= 120)) {
    return refused(
      line,
      cells,
      origin,
      'out_of_range',
      `frequency must be from 5 to 120 minutes, not "${cells.frequency}".`,
    )
  }
  return {
    line,
    name: nameOf(cells, origin),
    type,
    values: valuesOf(type, cells),
    isExact,
    ...(cells.group ? { group: cells.group } : {}),
    ...(cells.notify ? { notify: notify as Notify } : {}),
    ...(frequency === undefined ? {} : { frequency }),
    ...(cells.external_id ? { externalId: cells.external_id } : {}),
    ...(cells.tags === undefined ? {} : { tags: cells.tags.split(/[\s,]+/).filter((tag) => tag !== '') }),
    ...(cells.metadata === undefined ? {} : { metadata: pairsOf(cells.metadata) }),
  }
}

function nameOf({ name: written, domain, subdomain }: Cells, origin: string | undefined): string {
  if (written === undefined)
    return [exportedName(subdomain ?? '@'), domain || origin].filter((part) => part && part !== '@').join('.')
  const name = exportedName(written)
  const zone = (domain || origin)?.toLowerCase().replace(/\.$/, '')
  if (zone === undefined || name.endsWith('.')) return name
  if (name === '' || name === '@') return zone
  const isWhole = name.toLowerCase() === zone || name.toLowerCase().endsWith(`.${zone}`)
  return isWhole ? name : `${name}.${zone}`
}

/** One `key=value` per line. */
function pairsOf(cell: string): Metadata {
  const lines = cell.split(/\r?\n/).filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const [key = '', ...rest] = line.split('=')
      return [key, rest.join('=')]
    }),
  )
}

/** One value per line. */
function valuesOf(type: string, { value = '', priority = '' }: Cells): string[] {
  const values = value
    .split(/\r?\n/)
    .map((each) => each.trim())
    .filter((each) => each !== '')
  const { lacksPriority } = findZoneType(type)?.recordType ?? {}
  if (!lacksPriority || !/^\d+$/.test(priority)) return values
  return values.map((each) => (lacksPriority(each) ? `${priority} ${each}` : each))
}

function refused(line: number, cells: Cells, origin: string | undefined, code: ImportReason, reason: string): InputRow {
  const type = (cells.type ?? '').toUpperCase()
  return {
    line,
    name: nameOf(cells, origin),
    type,
    values: valuesOf(type, cells),
    isExact: true,
    result: 'reject',
    code,
    reason,
  }
}
