import { yieldToEventLoop } from '../../yield.ts'
import { withLineFeeds } from './zone-tokens.ts'

/** `line`: of its beginning, counted from 1. `error`: why it is invalid. */
export type CsvRecord = { line: number; cells: string[]; error?: string }

const SEPARATORS = [',', ';', '\t', '|']

/** Characters between two yields to the event loop, and characters of one cell. */
const BATCH_SIZE = 2_048
const MAX_CELL_LENGTH = 65_536
const MAX_CELLS = 100

const BAD_QUOTE = 'A quotation mark is not closed, or is inside a cell. Inside quotation marks, write it twice.'

/** Parses RFC 4180, with the most frequent separator of the first line. Never throws. */
export async function* csvRecords(csv: string): AsyncGenerator<CsvRecord> {
  const text = withLineFeeds(csv)
  const separator = separatorOf(text)
  let line = 1
  let record: CsvRecord = { line, cells: [] }
  let begin = 0 // of the cell
  let isQuoted = false
  let isOpen = false // inside of the quotes
  for (let at = 0; at <= text.length; at++) {
    if (at % BATCH_SIZE === BATCH_SIZE - 1) await yieldToEventLoop()
    const character = text[at]
    if (character === '\n') line++
    if (character === '"') {
      if (at === begin) {
        isQuoted = true
        isOpen = true
      } else if (isQuoted) isOpen = !isOpen
      continue
    }
    if (character !== undefined && (isOpen || (character !== separator && character !== '\n'))) continue
    addCell(record, text.slice(begin, at), isQuoted)
    begin = at + 1
    isQuoted = false
    isOpen = false
    if (character === separator) continue
    yield record
    record = { line, cells: [] }
  }
}

function separatorOf(text: string): string {
  const end = text.indexOf('\n')
  const first = text.slice(0, Math.min(end < 0 ? text.length : end, MAX_CELL_LENGTH))
  const counted = SEPARATORS.map((separator) => ({ separator, count: first.split(separator).length }))
  return counted.reduce((best, each) => (each.count > best.count ? each : best)).separator
}

function addCell(record: CsvRecord, written: string, isQuoted: boolean): void {
  if (record.cells.length >= MAX_CELLS) {
    record.error ??= `The line has more than ${MAX_CELLS} cells.`
    return
  }
  const cell = written.endsWith('\r') ? written.slice(0, -1) : written
  if (cell.length > MAX_CELL_LENGTH) {
    record.error ??= `A cell has ${cell.length} characters. At most ${MAX_CELL_LENGTH} are allowed.`
    record.cells.push('')
    return
  }
  if (!isQuoted) return void record.cells.push(cell)
  const inside = cell.slice(1, -1)
  // Inside the quotes, every quotation mark must be doubled.
  if (cell.length < 2 || !cell.endsWith('"') || inside.replaceAll('""', '').includes('"')) record.error ??= BAD_QUOTE
  record.cells.push(inside.replaceAll('""', '"'))
}
