/** Of the OPT pseudo-record. RFC 6891 section 6.1.1. */
export const TYPE_OPT = 41

export const CLASS_IN = 1

const RCODES: Readonly<Record<number, string>> = {
  0: 'NOERROR',
  1: 'FORMERR',
  2: 'SERVFAIL',
  3: 'NXDOMAIN',
  4: 'NOTIMP',
  5: 'REFUSED',
  6: 'YXDOMAIN',
  7: 'YXRRSET',
  8: 'NXRRSET',
  9: 'NOTAUTH',
  10: 'NOTZONE',
  16: 'BADVERS',
  23: 'BADCOOKIE',
}

/** The mnemonic of a response code, extended ones included; `RCODE<n>` where there is none. RFC 6895 section 2.3. */
export function rcodeName(rcode: number): string {
  return RCODES[rcode] ?? `RCODE${rcode}`
}
