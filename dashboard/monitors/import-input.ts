import type { ImportPlan, ImportRequest } from '#contract/dashboard.ts'
import type { Placed } from './import-run.ts'

export const SOURCES = ['zone', 'csv', 'domain'] as const
export type Source = (typeof SOURCES)[number]

/** What was given, in all three ways: changing the way loses nothing. */
export type ImportInput = { from: Source; zone: string; csv: string; domain: string; origin: string; compare?: Compare }
/** With which monitors it is compared. */
export type Compare = NonNullable<ImportRequest['compare']>

export const NO_INPUT: Omit<ImportInput, 'from' | 'compare'> = { zone: '', csv: '', domain: '', origin: '' }

/** The API's bound, in characters. */
const MOST_TEXT = 1_048_576

export const SAMPLE_CSV = `name,type,value,exact,group,notify,frequency
www.example.com,A,192.0.2.1,yes,production,immediately,5
www.example.com,A,192.0.2.2,yes,production,immediately,5
example.com,MX,10 mail.example.com,no,production,after_success,15
shop.customer.example,CNAME,stores.example.com,,customers,on_success,10
example.com,TXT,"v=spf1 include:_spf.example.com -all",no,,,
`

/** The dry run's question. `group`: where what says no group of its own goes. */
export function requestOf({ from, origin, compare, ...texts }: ImportInput, group: string): ImportRequest {
  const zoneName = origin.trim()
  return {
    [from]: from === 'domain' ? texts.domain.trim() : texts[from],
    ...(from !== 'domain' && zoneName !== '' ? { origin: zoneName } : {}),
    ...(group === '' ? {} : { group }),
    ...(compare ? { compare } : {}),
  }
}

/** Why it cannot be asked; undefined when it can. */
export function whyNot({ from, compare: _, ...texts }: ImportInput): string | undefined {
  const text = texts[from]
  if (text.trim() === '') {
    if (from === 'domain') return 'Enter a domain, such as example.com.'
    return from === 'zone' ? 'Paste a zone file, or drop one here.' : 'Paste a CSV, or drop one here.'
  }
  if (text.length > MOST_TEXT) {
    const size = (text.length / MOST_TEXT).toFixed(1)
    return `The file is ${size} MB. The limit is 1 MB. Split the file and import the parts one after the other.`
  }
}

/** What a file is, by its name and its beginning, and which zone its name speaks of. */
export function readDropped(name: string, text: string): Pick<ImportInput, 'from' | 'origin'> {
  const begin = text.slice(0, 2_000)
  const first = begin.split('\n')[0] ?? ''
  const hasColumns = /[,;\t|]/.test(first) && /\b(name|host|type|value|record|domain)/i.test(first)
  const isCsv = /\.(csv|tsv)$/i.test(name) || (hasColumns && !/\.zone$/i.test(name) && !first.startsWith(';'))
  const from = isCsv ? 'csv' : 'zone'
  const hasOrigin = () => text.split('\n').some((line) => /^\s*\$ORIGIN\s/i.test(line))
  return { from, origin: from === 'zone' && !hasOrigin() ? zoneNameOf(name) : '' }
}

/** `example.com.zone`, `db.example.com` and `example.com.txt` are how people call them. */
function zoneNameOf(file: string): string {
  const bare = file.toLowerCase().replace(/^(?:db|zone)\./, '')
  const name = bare.replace(/\.(?:zone|txt|db|bind|conf|hosts|dns)$/, '')
  return /^(?:[a-z0-9_-]+\.)+[a-z][a-z0-9-]+$/.test(name) ? name : ''
}

/** The plan's rows with their place in it. The group that the question named is no row's own. */
export const placedRows = ({ rows }: ImportPlan, group: string): Placed[] =>
  rows.map((row, at) => ({ at, row: row.group === group ? { ...row, group: null } : row }))

export const compareWith = ({ compare: _, ...input }: ImportInput, compare: Compare | undefined): ImportInput =>
  compare ? { ...input, compare } : input
