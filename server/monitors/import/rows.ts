import { fieldError } from '#contract/field-errors.ts'
import type { ImportReason } from '#contract/import-codes.ts'
import type { Metadata } from '#contract/labels.ts'
import type { Notify } from '#contract/monitors.ts'
import { invalid } from '../../problem.ts'

/** One monitor of the input. `result`, `code` and `reason`: set if the parser already refuses it. */
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
  result?: 'skip' | 'reject'
  reason?: string
  code?: ImportReason
  /** The provider publishes other records: addresses of its proxy, or of the target of a CNAME at the apex. */
  rewritten?: 'proxied' | 'flattened'
}

/** Rows that one plan holds. */
const MAX_ROWS = 5_000

/** Valid record types that Zonewatch cannot monitor. */
const UNSUPPORTED = new Set(
  `AFSDB ALIAS AMTRELAY ANAME APL CDNSKEY CDS CERT CSYNC DHCID DLV DNAME DNSKEY DSYNC EUI48 EUI64 HINFO HIP IPSECKEY KEY KX L32 L64 LOC LP MB
   MD MF MG MINFO MR NID NSAP NSEC NSEC3 NSEC3PARAM NULL NXT OPENPGPKEY RESINFO RP RRSIG RT SIG SMIMEA SPF TA TKEY TSIG URI WALLET WKS X25
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

/** A name as providers export it: Route 53 writes * in octal, others end relative names in @. */
export function exportedName(written: string): string {
  const name = written.replace(/^\\052(?=\.|$)/, '*')
  return name.endsWith('.@') && !name.endsWith('\\.@') ? name.slice(0, -2) : name
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
    if (row) {
      for (const value of record.values) row.values.push(value)
      if (record.rewritten) row.rewritten = record.rewritten
    } else rows.set(key, { ...record, values: [...record.values] })
    if (rows.size > MAX_ROWS) {
      throw invalid({ [field]: fieldError('too_many_rows', { max: MAX_ROWS }) })
    }
  }
  const joined = refuseIncomplete([...rows.values()])
  return field === 'zone' ? compareWithCname(joined) : joined
}

/** Refused rows are not joined. */
function keyOf(record: InputRow): string {
  const { line, type, isExact, group, notify, frequency, externalId, tags, metadata, result, reason } = record
  if (result === 'reject') return `${line} ${record.name} ${type} ${reason}`
  if (result === 'skip' && SIGNATURES.has(type)) return type
  return JSON.stringify([nameOf(record), type, isExact, group, notify, frequency, externalId, tags, metadata, result])
}

/**
 * Refuses rows of which another record is invalid: without it, the expected values would be incomplete. An entry whose type is not
 * known may belong to any row of its name.
 */
function refuseIncomplete(rows: InputRow[]): InputRow[] {
  const unread = new Map<string, InputRow>()
  for (const row of rows) if (row.result === 'reject' && row.name !== '') unread.set(`${nameOf(row)} ${row.type}`, row)
  if (unread.size === 0) return rows
  return rows.map((row) => {
    if (row.result !== undefined) return row
    const part = unread.get(`${nameOf(row)} ${row.type}`) ?? unread.get(`${nameOf(row)} `)
    if (!part) return row
    const same = part.type === '' ? 'the same name' : 'the same name and type'
    return { ...row, result: 'reject', code: 'part_invalid', reason: `Line ${part.line} has ${same}, and is invalid.` }
  })
}

/** Types that a name may have beside a CNAME record. RFC 4034 section 2. */
const BESIDE_CNAME = new Set(['CNAME', 'RRSIG', 'NSEC', 'KEY', 'SIG', 'NXT'])

/**
 * A name with a CNAME record has no other data, RFC 1034 section 3.6.2. At the apex of a zone some providers publish the addresses
 * of the target instead; elsewhere the rows are refused, because they can never all be valid.
 */
function compareWithCname(rows: InputRow[]): InputRow[] {
  const typesByName = new Map<string, Set<string>>()
  for (const row of rows) typesByName.set(nameOf(row), (typesByName.get(nameOf(row)) ?? new Set()).add(row.type))
  const proxied = new Set(rows.filter(({ rewritten }) => rewritten).map(nameOf))
  return rows.map((row) => {
    const types = typesByName.get(nameOf(row))!
    const others = [...types].filter((type) => type !== '' && !BESIDE_CNAME.has(type))
    if (row.result !== undefined || !types.has('CNAME') || others.length === 0 || proxied.has(nameOf(row))) return row
    const isApex = types.has('SOA') || types.has('NS')
    if (isApex) return row.type === 'CNAME' ? { ...row, rewritten: 'flattened' } : row
    const reason = `${row.name.replace(/\.$/, '')} has a CNAME record and other records (${others.join(', ')}). A name with a CNAME record can have no others. Remove one of them.`
    return { ...row, result: 'reject', code: 'cname_and_other_data', reason }
  })
}

const nameOf = ({ name }: InputRow) => name.toLowerCase().replace(/\.$/, '')
