import { yieldToEventLoop } from '../../yield.ts'

/** `line`: where it begins, counted from 1. `wrong`: why it cannot be read. */
export type CsvRecord = { line: number; cells: string[]; wrong?: string }

const SEPARATORS = [',', ';', '\t', '|']

/** Characters read before the event loop is yielded, and characters of one cell. */
const SLICE = 2_048
const MOST_CELL = 65_536
/** Cells of a record that are kept. */
const MOST_CELLS = 100

const BAD_QUOTE = 'A quotation mark is not closed, or is inside a cell. Inside quotation marks, write it twice.'

/** RFC 4180, with the separator that stands most often in the first line. Never throws. */
export async function* csvRecords(given: string): AsyncGenerator<CsvRecord> {
  const text = given.includes('\n') ? given : given.replaceAll('\r', '\n')
  const separator = separatorOf(text)
  let line = 1
  let record: CsvRecord = { line, cells: [] }
  let begin = 0 // of the cell
  let isQuoted = false
  let isOpen = false // inside of the quotes
  for (let at = 0; at <= text.length; at++) {
    if (at % SLICE === SLICE - 1) await yieldToEventLoop()
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
  const first = text.slice(0, Math.min(end < 0 ? text.length : end, MOST_CELL))
  const counted = SEPARATORS.map((separator) => ({ separator, count: first.split(separator).length }))
  return counted.reduce((best, each) => (each.count > best.count ? each : best)).separator
}

function addCell(record: CsvRecord, written: string, isQuoted: boolean): void {
  if (record.cells.length >= MOST_CELLS) return
  const cell = written.endsWith('\r') ? written.slice(0, -1) : written
  if (cell.length > MOST_CELL) {
    record.wrong ??= `A cell has ${cell.length} characters. At most ${MOST_CELL} are allowed.`
    record.cells.push('')
    return
  }
  if (!isQuoted) return void record.cells.push(cell)
  const inside = cell.slice(1, -1)
  // What is left without the quotes that are written twice must hold none.
  if (cell.length < 2 || !cell.endsWith('"') || inside.replaceAll('""', '').includes('"')) record.wrong ??= BAD_QUOTE
  record.cells.push(inside.replaceAll('""', '"'))
}
