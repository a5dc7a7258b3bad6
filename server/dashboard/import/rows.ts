import { fieldError } from '#contract/field-errors.ts'
import type { ImportReason } from '#contract/import-codes.ts'
import type { Metadata } from '#contract/labels.ts'
import type { Notify } from '#contract/monitors.ts'
import { invalid } from '../../problem.ts'

/** One monitor of the input. `fate`, `code` and `why`: set if the parser already refuses it. */
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
  code?: ImportReason
}

/** Rows that one plan holds. */
const MAX_ROWS = 5_000

/** Valid record types that Zonewatch cannot monitor. */
const UNSUPPORTED = new Set(
  `AFSDB ALIAS ANAME APL CDNSKEY CDS CERT CSYNC DHCID DLV DNAME DNSKEY EUI48 EUI64 HINFO HIP IPSECKEY KEY KX L32 L64 LOC LP MB
   MD MF MG MINFO MR NID NSAP NSEC NSEC3 NSEC3PARAM NULL NXT OPENPGPKEY RP RRSIG RT SIG SMIMEA SPF TA TKEY TSIG URI WKS X25
   ZONEMD`.split(/\s+/),
)
/** A signed zone has these for each name, so the plan lists them once per file. */
const SIGNATURES = new Set(['RRSIG', 'NSEC', 'NSEC3'])

export const isUnsupported = (type: string) => UNSUPPORTED.has(type) || /^TYPE\d{1,5}$/.test(type)

export function unsupportedReason(type: string): string {
  if (type === 'SPF')
    return 'The record type SPF is obsolete (RFC 7208). Monitor the TXT record that begins with v=spf1.'
  return `Zonewatch cannot monitor ${type} records.`
}

/**
 * Joins records with the same name, type and settings to one row, at the position of the first. Throws a 400 for `field` if there
 * are more than `MAX_ROWS`.
 */
export async function joinRows(records: AsyncIterable<InputRow>, field: 'zone' | 'csv'): Promise<InputRow[]> {
  const rows = new Map<string, InputRow>()
  for await (const record of records) {
    const key = keyOf(record)
    const row = rows.get(key)
    if (row) for (const value of record.values) row.values.push(value)
    else rows.set(key, { ...record, values: [...record.values] })
    if (rows.size > MAX_ROWS) {
      throw invalid({ [field]: fieldError('too_many_rows', { max: MAX_ROWS }) })
    }
  }
  return refuseIncomplete([...rows.values()])
}

/** Refused rows are not joined. */
function keyOf(record: InputRow): string {
  const { line, type, isExact, group, notify, frequency, externalId, tags, metadata, fate, why } = record
  if (fate === 'refuse') return `${line} ${record.name} ${type} ${why}`
  if (fate === 'skip' && SIGNATURES.has(type)) return type
  return JSON.stringify([nameOf(record), type, isExact, group, notify, frequency, externalId, tags, metadata, fate])
}

/** Refuses rows of which another record is invalid: without it, the expected values would be incomplete. */
function refuseIncomplete(rows: InputRow[]): InputRow[] {
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
