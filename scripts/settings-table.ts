import { readFileSync, writeFileSync } from 'node:fs'
import { readConfig } from '../server/config/config.ts'

const DOCUMENT = 'docs/reference/settings.md'
const BEGIN = /<!-- settings: .*-->\n/
const END = '<!-- end of settings -->'

/** Where the value depends on other settings or on the machine, its rule instead. */
const RULES: Record<string, string> = {
  BASE_URL: 'from `HOST` and `PORT`',
  DATABASE_URL: '`zonewatch.db` in `DATA_DIR`',
  SECRET: 'created once, in `DATA_DIR`',
  DNS_SERVERS: "the system's",
  WEBHOOK_DENIED_PORTS: '[list of ports](webhooks.md#refused-addresses)',
  METRICS_HOST: 'that of `HOST`',
  LOG_FORMAT: '`pretty` on a terminal, else `json`',
}

/** Every setting as a Markdown table, from the same lines as `zonewatch config`. */
export function settingsTable(): string {
  const rows = readConfig({}).lines.map(({ name, value, about }) => {
    const preset = RULES[name] ?? (value === '' ? 'none' : `\`${value}\``)
    return `| \`${name}\` | ${preset} | ${about.replaceAll('<', '\\<')} |`
  })
  return ['| Setting | Default | Meaning |', '|---|---|---|', ...rows, ''].join('\n')
}

/** The document with this table in the place of the one that it has. */
export function withTable(document: string, table: string): string {
  const begin = BEGIN.exec(document)
  const end = document.indexOf(END)
  if (!begin || end < 0) throw new Error(`${DOCUMENT} has lost the comments around its settings.`)
  return document.slice(0, begin.index + begin[0].length) + table + document.slice(end)
}

if (import.meta.main) writeFileSync(DOCUMENT, withTable(readFileSync(DOCUMENT, 'utf8'), settingsTable()))
