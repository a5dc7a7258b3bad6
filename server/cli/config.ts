import { print, printJson } from './arguments.ts'
import { loadConfig } from './load-config.ts'
import { table } from './table.ts'

/** The width of a line if the output is not a terminal. */
const DEFAULT_WIDTH = 100

/** Prints every setting, its value and what it does. Secrets are hidden. */
export function printConfig({ json }: { json?: boolean }): void {
  const { lines } = loadConfig()
  if (json) return void printJson(lines)
  const rows = lines.map(({ name, value, isDefault, about }) => [
    name,
    value || '-',
    isDefault ? 'default' : 'set',
    about,
  ])
  const wrapping = { lineWidth: process.stdout.columns || DEFAULT_WIDTH, wrapped: ['VALUE', 'WHAT IT IS'] }
  print(table(['SETTING', 'VALUE', 'FROM', 'WHAT IT IS'], rows, wrapping))
}
