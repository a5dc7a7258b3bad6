/** RFC 4180. */
export function csvText(rows: readonly unknown[][]): string {
  return rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('')
}

/** A line that a spreadsheet would take for a formula is written behind an apostrophe, in a cell of several lines each one. */
function cellOf(value: unknown): string {
  const written = String(value ?? '').replace(FORMULA, "$&'")
  return /[",\r\n]/.test(written) || written.trim() !== written ? `"${written.replaceAll('"', '""')}"` : written
}

/** The inverse of what protects a cell from spreadsheets. */
export const unprotected = (cell: string): string => cell.replace(PROTECTED, '')

const FIRST = '[=+\\-@\\t\\uff1d\\uff0b\\uff0d\\uff20]'
const LINE = '(?:^|(?<=[\\r\\n\\u2028\\u2029]))'
/** Where a line begins that a spreadsheet may run, also one with full-width characters, or that looks protected already. */
const FORMULA = new RegExp(`${LINE}(?='*${FIRST})`, 'g')
const PROTECTED = new RegExp(`${LINE}'(?='*${FIRST})`, 'g')
