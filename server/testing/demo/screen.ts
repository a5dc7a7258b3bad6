import { styleText } from 'node:util'

export type Screen = {
  title(text: string): void
  /** Starts a numbered step with a word and a description. */
  step(word: string, about: string): void
  /** Aligned columns. A row can have a mark. */
  rows(rows: Row[]): void
  note(text: string): void
  end(isGood: boolean, text: string): void
}

export type Row = { mark?: 'good' | 'bad'; cells: string[] }

type Style = Parameters<typeof styleText>[0]

const WIDTH = 80
const INDENT = ' '.repeat(12)
const MARKS = { good: ['green', '✓'], bad: ['yellow', '●'] } as const

/** Text of about 80 columns, with colors on a terminal unless NO_COLOR is set. */
export function createScreen(output: NodeJS.WriteStream, { NO_COLOR }: { NO_COLOR?: string | undefined }): Screen {
  const hasColors = output.isTTY === true && !NO_COLOR
  const paint = (style: Style, text: string) => (hasColors ? styleText(style, text, { validateStream: false }) : text)
  const print = (line = '') => void output.write(`${line.trimEnd()}\n`)
  let steps = 0
  return {
    title(text) {
      print()
      print(`  ${paint('bold', text)}`)
    },
    step(word, about) {
      steps++
      print()
      print(`  ${paint('dim', String(steps))}  ${paint('bold', word.padEnd(9))}${about}`)
    },
    rows(rows) {
      const widths = widthsOf(rows)
      for (const { mark, cells } of rows) {
        const [style, sign] = mark ? MARKS[mark] : (['dim', ' '] as const)
        const [first = '', ...others] = cells.map((cell, index) => cell.padEnd(widths[index] ?? 0))
        print(`${INDENT}${paint(style, sign)} ${first}  ${paint('dim', others.join('  ').trimEnd())}`)
      }
    },
    note(text) {
      for (const line of wrapped(text, WIDTH - INDENT.length - 2)) print(`${INDENT}  ${line}`)
    },
    end(isGood, text) {
      print()
      for (const [index, line] of wrapped(text, WIDTH - 5).entries()) {
        print(`  ${index > 0 ? ' ' : paint(isGood ? 'green' : 'red', isGood ? '✓' : '✗')}  ${line}`)
      }
      print()
    },
  }
}

function widthsOf(rows: Row[]): number[] {
  const columns = Math.max(0, ...rows.map(({ cells }) => cells.length))
  return Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map(({ cells }) => cells[column]?.length ?? 0)),
  )
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
