import { Readable } from 'node:stream'
import type { Page } from '../database/pagination.ts'

/** Rows of one download, and of one page of it. */
const MOST = 100_000
const AT_ONCE = 500

type Listed<T> = {
  columns: readonly string[]
  cellsOf: (row: T) => unknown[]
  read: (limit: number, after?: string) => Promise<Page<T>>
  /** Rows after which it ends, with the line `atEnd`. */
  most?: number | undefined
  atEnd: (most: number) => string
}

/** A list as RFC 4180 text, page by page as the reader takes it. Throws what the list throws before the first line. */
export async function streamCsv<T>(listed: Listed<T>): Promise<Readable> {
  const { read, most = MOST } = listed
  const first = await read(Math.min(AT_ONCE, most))
  return Readable.from(lines(listed, first, most), { objectMode: false, highWaterMark: 65_536 })
}

async function* lines<T>(
  { columns, cellsOf, read, atEnd }: Listed<T>,
  first: Page<T>,
  most: number,
): AsyncGenerator<string> {
  yield toCsv([[...columns]])
  let left = most
  for (let page = first; ; page = await read(Math.min(AT_ONCE, left), page.after!)) {
    if (page.data.length > 0) yield toCsv(page.data.map(cellsOf))
    left -= page.data.length
    if (page.after === null) return
    if (left <= 0) {
      yield toCsv([[atEnd(most)]])
      return
    }
  }
}

/** RFC 4180. */
export function toCsv(rows: readonly unknown[][]): string {
  return rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('')
}

/** A line that a spreadsheet would take for a formula is written behind an apostrophe, in a cell of several lines each one. */
function cellOf(value: unknown): string {
  const written = String(value ?? '').replace(FORMULA, "$&'")
  return /[",\r\n]/.test(written) || written.trim() !== written ? `"${written.replaceAll('"', '""')}"` : written
}

/** The inverse of what protects a cell from spreadsheets. */
export const unescapeFormula = (cell: string): string => cell.replace(PROTECTED, '')

const FIRST = '[=+\\-@\\t\\uff1d\\uff0b\\uff0d\\uff20]'
const LINE = '(?:^|(?<=[\\r\\n\\u2028\\u2029]))'
/** Where a line begins that a spreadsheet may run, also one with full-width characters, or that looks protected already. */
const FORMULA = new RegExp(`${LINE}(?='*${FIRST})`, 'g')
const PROTECTED = new RegExp(`${LINE}'(?='*${FIRST})`, 'g')
