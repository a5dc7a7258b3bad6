import { canonicalAddress } from '../../dns/addresses.ts'
import { endsInNumber, normalizeName } from '../../dns/names.ts'
import { compareTexts, observeAll, quoted } from './compare.ts'
import { withOctets } from './presentation.ts'
import { type ParsedValue, type RecordType, refused } from './record-type.ts'

/** NS, PTR and CNAME: a host name. */
export function hostRecord(
  own: Pick<RecordType, 'code' | 'likelyAt'> & { queryType: 'NS' | 'PTR' | 'CNAME' },
): RecordType {
  return {
    ...own,
    parts: 'one name',
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
    return refused(`${quoted(written)} is an IP address. Use a host name like host.example.com.`)
  }
  if (written === '.') return refused('The root "." is not a host name. Use one like host.example.com.')
  const parsed = normalizeName(withOctets(written))
  if (parsed.ok && endsInNumber(parsed.name)) {
    return refused(`${quoted(written)} ends in a number, so it is not a host name. Use one like host.example.com.`)
  }
  return parsed.ok ? { ok: true, value: parsed.name } : parsed
}

/** Where a record may also say that there is no host, by a single dot. */
export function parseHostOrRoot(text: string): ParsedValue {
  return text === '.' ? { ok: true, value: '.' } : parseHost(text)
}
