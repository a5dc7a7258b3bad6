import { Readable } from 'node:stream'
import type { Page } from '../database/pagination.ts'

const MAX_ROWS = 100_000
/** Of rows that have some hundred KiB each in the worst case. */
const PAGE_SIZE = 100

type CsvExport<T> = {
  columns: readonly string[]
  cellsOf: (row: T) => unknown[]
  readPage: (limit: number, after?: string) => Promise<Page<T>>
  maxRows?: number | undefined
  /** The last line if there are more rows. */
  limitNote: (maxRows: number) => string
}

/** Reads a list page by page as the client receives it. Throws the errors of the first page. */
export async function streamCsv<T>(list: CsvExport<T>): Promise<Readable> {
  const { readPage, maxRows = MAX_ROWS } = list
  const first = await readPage(Math.min(PAGE_SIZE, maxRows))
  return Readable.from(csvPages(list, first, maxRows), { objectMode: false, highWaterMark: 65_536 })
}

async function* csvPages<T>(
  { columns, cellsOf, readPage, limitNote }: CsvExport<T>,
  first: Page<T>,
  maxRows: number,
): AsyncGenerator<string> {
  yield toCsv([[...columns]])
  let remaining = maxRows
  for (let page = first; ; page = await readPage(Math.min(PAGE_SIZE, remaining), page.after!)) {
    if (page.data.length > 0) yield toCsv(page.data.map(cellsOf))
    remaining -= page.data.length
    if (page.after === null) return
    if (remaining <= 0) return yield toCsv([[limitNote(maxRows)]])
  }
}

/** RFC 4180. */
export function toCsv(rows: readonly unknown[][]): string {
  return rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('')
}

/** Puts an apostrophe before each line that a spreadsheet would run as a formula. */
function cellOf(value: unknown): string {
  const text = String(value ?? '').replace(FORMULA, "$&'")
  return /[",\r\n]/.test(text) || text.trim() !== text ? `"${text.replaceAll('"', '""')}"` : text
}

/** Removes the apostrophes. */
export const unescapeFormula = (cell: string): string => cell.replace(ESCAPED_FORMULA, '')

const FORMULA_START = '[=+\\-@\\t\\uff1d\\uff0b\\uff0d\\uff20]'
const LINE_START = '(?:^|(?<=[\\r\\n\\u2028\\u2029]))'
/** Also matches full-width characters, and a formula that has apostrophes already. */
const FORMULA = new RegExp(`${LINE_START}(?='*${FORMULA_START})`, 'g')
const ESCAPED_FORMULA = new RegExp(`${LINE_START}'(?='*${FORMULA_START})`, 'g')
