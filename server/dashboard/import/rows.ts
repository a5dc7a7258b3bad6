import { fieldError } from '#contract/field-errors.ts'
import type { ImportReason } from '#contract/import-codes.ts'
import type { Metadata } from '#contract/labels.ts'
import type { Notify } from '#contract/monitors.ts'
import { invalid } from '../../problem.ts'

/** The part of an input that becomes one monitor. `why`: set if it is already known that none is created. */
export type InputRow = {
  /** Null for discovered rows. */
  line: number | null
  name: string
  type: string
  values: string[]
  isExact: boolean
  group?: string
  notify?: Notify
  frequency?: number
  externalId?: string
  tags?: string[]
  metadata?: Metadata
  fate?: 'skip' | 'refuse'
  why?: string
  /** Stays the same when the words of `why` change. */
  code?: ImportReason
}

/** Rows that one plan holds. */
const MOST_ROWS = 5_000

/** Types that a zone may hold and that no monitor watches. */
const UNWATCHED = new Set(
  `AFSDB ALIAS ANAME APL CDNSKEY CDS CERT CSYNC DHCID DLV DNAME DNSKEY EUI48 EUI64 HINFO HIP IPSECKEY KEY KX L32 L64 LOC LP MB
   MD MF MG MINFO MR NID NSAP NSEC NSEC3 NSEC3PARAM NULL NXT OPENPGPKEY RP RRSIG RT SIG SMIMEA SPF TA TKEY TSIG URI WKS X25
   ZONEMD`.split(/\s+/),
)
/** Of these a signed zone has one for each name: they are told once for the whole file. */
const SIGNATURES = new Set(['RRSIG', 'NSEC', 'NSEC3'])

export const isUnwatched = (type: string) => UNWATCHED.has(type) || /^TYPE\d{1,5}$/.test(type)

export function whyUnwatched(type: string): string {
  if (type === 'SPF')
    return 'The record type SPF is obsolete (RFC 7208). Monitor the TXT record that begins with v=spf1.'
  return `Zonewatch cannot monitor ${type} records.`
}

/**
 * Records of one name, type and settings are one row, where the first of them stands. Order is kept. Throws a 400 that names
 * `field` as soon as there are more rows than a plan holds.
 */
export async function joinRecords(records: AsyncIterable<InputRow>, field: 'zone' | 'csv'): Promise<InputRow[]> {
  const rows = new Map<string, InputRow>()
  for await (const record of records) {
    const key = keyOf(record)
    const row = rows.get(key)
    if (row) for (const value of record.values) row.values.push(value)
    else rows.set(key, { ...record, values: [...record.values] })
    if (rows.size > MOST_ROWS) {
      throw invalid({ [field]: fieldError('too_many_rows', { max: MOST_ROWS }) })
    }
  }
  return withoutParts([...rows.values()])
}

/** What is refused stands alone. */
function keyOf(record: InputRow): string {
  const { line, type, isExact, group, notify, frequency, externalId, tags, metadata, fate, why } = record
  if (fate === 'refuse') return `${line} ${record.name} ${type} ${why}`
  if (fate === 'skip' && SIGNATURES.has(type)) return type
  return JSON.stringify([nameOf(record), type, isExact, group, notify, frequency, externalId, tags, metadata, fate])
}

/** An expectation without a record that cannot be read would be a wrong one. */
function withoutParts(rows: InputRow[]): InputRow[] {
  const unread = new Map<string, InputRow>()
  for (const row of rows) if (row.fate === 'refuse' && row.type !== '') unread.set(`${nameOf(row)} ${row.type}`, row)
  if (unread.size === 0) return rows
  return rows.map((row) => {
    const part = row.fate === undefined ? unread.get(`${nameOf(row)} ${row.type}`) : undefined
    if (!part) return row
    const why = `Line ${part.line} has the same name and type, and is invalid.`
    return { ...row, fate: 'refuse', code: 'part_invalid', why }
  })
}

const nameOf = ({ name }: InputRow) => name.toLowerCase().replace(/\.$/, '')
