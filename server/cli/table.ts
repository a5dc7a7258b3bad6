import { visible } from '#contract/visible-text.ts'

/** `lineWidth`: columns in `wrapped` (their headings) are narrowed until a line fits into it. */
type Wrapping = { lineWidth: number; wrapped: readonly string[] }

const MIN_COLUMN_WIDTH = 12

/** Text in aligned columns under their headings, two spaces apart. */
export function table(headings: string[], rows: string[][], wrapping?: Wrapping): string {
  const lines = [headings, ...rows.map((row) => row.map(visible))]
  const longest = headings.map((_, column) => Math.max(...lines.map((row) => row[column]!.length)))
  const widths = wrapping ? narrow(headings, longest, wrapping) : longest
  return lines
    .flatMap((row) => {
      const cells = row.map((cell, column) => wrap(cell, widths[column]!))
      const height = Math.max(...cells.map(({ length }) => length))
      return Array.from({ length: height }, (_, line) =>
        cells
          .map((cell, column) => (cell[line] ?? '').padEnd(widths[column]!))
          .join('  ')
          .trimEnd(),
      )
    })
    .join('\n')
}

/** Narrows the widest of the wrapped columns, one character at a time, until a line fits. */
function narrow(headings: readonly string[], longest: readonly number[], { lineWidth, wrapped }: Wrapping): number[] {
  const widths = [...longest]
  const columns = wrapped.map((heading) => headings.indexOf(heading))
  let excess = widths.reduce((sum, width) => sum + width + 2, -2) - lineWidth
  while (excess-- > 0) {
    const [widest = 0] = columns.toSorted((a, b) => widths[b]! - widths[a]!)
    widths[widest] = Math.max(MIN_COLUMN_WIDTH, widths[widest]! - 1)
  }
  return widths
}

/** Breaks lines after a space or a comma, and within words that are longer than a line. */
function wrap(text: string, width: number): string[] {
  if (text.length <= width) return [text]
  const lines = ['']
  for (const word of text.split(/(?<=[ ,])/)) {
    for (let from = 0; from < word.length; from += width) {
      const part = word.slice(from, from + width)
      if ((lines.at(-1) + part.trimEnd()).length > width) lines.push('')
      lines[lines.length - 1] += part
    }
  }
  return lines.map((line) => line.trimEnd())
}
