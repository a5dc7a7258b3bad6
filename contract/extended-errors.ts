/** The names of extended DNS errors in IANA's registry. RFC 8914 section 5.2. */
const NAMES = [
  'Other Error',
  'Unsupported DNSKEY Algorithm',
  'Unsupported DS Digest Type',
  'Stale Answer',
  'Forged Answer',
  'DNSSEC Indeterminate',
  'DNSSEC Bogus',
  'Signature Expired',
  'Signature Not Yet Valid',
  'DNSKEY Missing',
  'RRSIGs Missing',
  'No Zone Key Bit Set',
  'NSEC Missing',
  'Cached Error',
  'Not Ready',
  'Blocked',
  'Censored',
  'Filtered',
  'Prohibited',
  'Stale NXDOMAIN Answer',
  'Not Authoritative',
  'Not Supported',
  'No Reachable Authority',
  'Network Error',
  'Invalid Data',
  'Signature Expired before Valid',
  'Too Early',
  'Unsupported NSEC3 Iterations Value',
  'Unable to conform to policy',
  'Synthesized',
] as const

/** "Signature Expired (EDE 7)", or only the number of an error without a name. */
export function extendedErrorName(code: number): string {
  const name = NAMES[code]
  return name === undefined ? `EDE ${code}` : `${name} (EDE ${code})`
}
