import { describeConfig } from '../config/config.ts'
import { loadConfig } from './load-config.ts'
import { table } from './table.ts'

/** Of a line, where the output is no terminal. */
const WIDTH = 100

/** Every setting, its value and what it is for; secrets are hidden. */
export function printConfig({ json }: { json?: boolean }): void {
  const lines = loadConfig(() => describeConfig())
  if (json) return void process.stdout.write(`${JSON.stringify(lines)}\n`)
  const rows = lines.map(({ name, value, isDefault, about }) => [
    name,
    value || '-',
    isDefault ? 'default' : 'set',
    about,
  ])
  const fit = { width: process.stdout.columns || WIDTH, wrapped: ['VALUE', 'WHAT IT IS'] }
  process.stdout.write(`${table(['SETTING', 'VALUE', 'FROM', 'WHAT IT IS'], rows, fit)}\n`)
}
