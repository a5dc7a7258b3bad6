type Fit = {
  /** Of a line. */
  width: number
  /** The columns whose cells may take several lines, by their headings. */
  wrapped: readonly string[]
}

/** However narrow the terminal is. */
const LEAST_WIDTH = 12

/** Aligned columns under their headings, two spaces apart. */
export function table(headings: string[], rows: string[][], fit?: Fit): string {
  const all = [headings, ...rows]
  const longest = headings.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  const widths = fit ? fitted(headings, longest, fit) : longest
  return all
    .flatMap((row) => {
      const cells = row.map((cell, column) => wrap(cell, widths[column]!))
      const height = Math.max(...cells.map(({ length }) => length))
      return Array.from({ length: height }, (_, line) =>
        cells
          .map((lines, column) => (lines[line] ?? '').padEnd(widths[column]!))
          .join('  ')
          .trimEnd(),
      )
    })
    .join('\n')
}

/** The widest of the columns that may gives way until a line has the width. */
function fitted(headings: readonly string[], longest: readonly number[], { width, wrapped }: Fit): number[] {
  const widths = [...longest]
  const columns = wrapped.map((heading) => headings.indexOf(heading))
  let excess = widths.reduce((sum, each) => sum + each + 2, -2) - width
  while (excess-- > 0) {
    const [widest = 0] = columns.toSorted((one, other) => widths[other]! - widths[one]!)
    widths[widest] = Math.max(LEAST_WIDTH, widths[widest]! - 1)
  }
  return widths
}

/** Lines break after a space or a comma, and within what is longer than a line. */
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
