import type { ImportPlan, ImportRequest } from '#contract/dashboard.ts'
import type { IndexedRow } from './run.ts'

export const SOURCES = ['zone', 'csv', 'domain'] as const
export type Source = (typeof SOURCES)[number]

/** The input of all three sources, so that switching the source loses nothing. */
export type ImportInput = { from: Source; zone: string; csv: string; domain: string; origin: string; compare?: Compare }
export type Compare = NonNullable<ImportRequest['compare']>

export const EMPTY_INPUT: Omit<ImportInput, 'from' | 'compare'> = { zone: '', csv: '', domain: '', origin: '' }

/** Characters, as in the API. */
const MAX_TEXT_LENGTH = 1_048_576

export const SAMPLE_CSV = `name,type,value,exact,group,notify,frequency
www.example.com,A,192.0.2.1,yes,production,immediately,5
www.example.com,A,192.0.2.2,yes,production,immediately,5
example.com,MX,10 mail.example.com,no,production,after_success,15
shop.customer.example,CNAME,stores.example.com,,customers,on_success,10
example.com,TXT,"v=spf1 include:_spf.example.com -all",no,,,
`

/** The request of the dry run. `group` is for rows that set none. */
export function importRequest({ from, origin, compare, ...texts }: ImportInput, group: string): ImportRequest {
  const zoneName = origin.trim()
  return {
    [from]: from === 'domain' ? texts.domain.trim() : texts[from],
    ...(from !== 'domain' && zoneName !== '' ? { origin: zoneName } : {}),
    ...(group === '' ? {} : { group }),
    ...(compare ? { compare } : {}),
  }
}

/** Why the input cannot be sent; undefined when it can. */
export function inputError({ from, compare: _, ...texts }: ImportInput): string | undefined {
  const text = texts[from]
  if (text.trim() === '') {
    if (from === 'domain') return 'Enter a domain, such as example.com.'
    return from === 'zone' ? 'Paste a zone file, or drop one here.' : 'Paste a CSV, or drop one here.'
  }
  if (text.length > MAX_TEXT_LENGTH) {
    const size = (text.length / MAX_TEXT_LENGTH).toFixed(1)
    return `The file is ${size} MB. The limit is 1 MB. Split the file and import the parts one after the other.`
  }
}

/** Detects the source from name and beginning of a file, and the zone name from its name. */
export function detectSource(name: string, text: string): Pick<ImportInput, 'from' | 'origin'> {
  const beginning = text.slice(0, 2_000)
  const first = beginning.split('\n')[0] ?? ''
  const hasColumns = /[,;\t|]/.test(first) && /\b(name|host|type|value|record|domain)/i.test(first)
  const isCsv = /\.(csv|tsv)$/i.test(name) || (hasColumns && !/\.zone$/i.test(name) && !first.startsWith(';'))
  const from = isCsv ? 'csv' : 'zone'
  const hasOriginLine = () => text.split('\n').some((line) => /^\s*\$ORIGIN\s/i.test(line))
  return { from, origin: from === 'zone' && !hasOriginLine() ? zoneNameFromFile(name) : '' }
}

/** Common names of zone files: `example.com.zone`, `db.example.com`, `example.com.txt`. */
function zoneNameFromFile(file: string): string {
  const bare = file.toLowerCase().replace(/^(?:db|zone)\./, '')
  const name = bare.replace(/\.(?:zone|txt|db|bind|conf|hosts|dns)$/, '')
  return /^(?:[a-z0-9_-]+\.)+[a-z][a-z0-9-]+$/.test(name) ? name : ''
}

/** The rows of the plan with their index. The group of the request is not a setting of the row. */
export const indexedRows = ({ rows }: ImportPlan, group: string): IndexedRow[] =>
  rows.map((row, index) => ({ index, row: row.group === group ? { ...row, group: null } : row }))

export const withCompare = ({ compare: _, ...input }: ImportInput, compare: Compare | undefined): ImportInput =>
  compare ? { ...input, compare } : input
