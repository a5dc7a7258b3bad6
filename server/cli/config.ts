import { describeConfig } from '../config/config.ts'
import { loadConfig } from './load-config.ts'
import { table } from './table.ts'

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
  process.stdout.write(`${table(['SETTING', 'VALUE', 'FROM', 'WHAT IT IS'], rows)}\n`)
}
