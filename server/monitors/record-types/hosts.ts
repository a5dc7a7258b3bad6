import { fieldError } from '#contract/field-errors.ts'
import { canonicalAddress } from '../../dns/addresses.ts'
import { endsInNumber, normalizeName } from '../../dns/names.ts'
import { compareTexts, observeAll } from './compare.ts'
import { withOctets } from './presentation.ts'
import { type ParsedValue, type RecordType, refused } from './record-type.ts'

/** NS, PTR and CNAME: a host name. */
export function hostRecord(
  own: Pick<RecordType, 'code' | 'likelyAt'> & { queryType: 'NS' | 'PTR' | 'CNAME' },
): RecordType {
  return {
    ...own,
    parts: 'host',
    read: (rdata) => rdata.name(),
    parseExpected: parseHost,
    observe: observeAll,
    difference: compareTexts,
    fromZoneFile: (data, wholeName) => (data.length === 1 ? wholeName(data[0]!.raw) : undefined),
  }
}

/** A host name in canonical form; an address in its place is the most common mistake and never works. RFC 2181 section 10.3. */
export function parseHost(text: string): ParsedValue {
  const written = text.trim()
  if (canonicalAddress(written)) {
    return refused(fieldError('address_as_host', { value: written }))
  }
  if (written === '.') return refused(fieldError('not_a_host_name', { value: written }))
  const parsed = normalizeName(withOctets(written))
  if (parsed.ok && endsInNumber(parsed.name)) {
    return refused(fieldError('host_ends_in_number', { value: written }))
  }
  return parsed.ok ? { ok: true, value: parsed.name } : parsed
}

/** Where a record may also say that there is no host, by a single dot. */
export function parseHostOrRoot(text: string): ParsedValue {
  return text === '.' ? { ok: true, value: '.' } : parseHost(text)
}
