/**
 * The texts of a record type. `holds`: what the records contain, as a noun. `write`: the format of an expected value. `exact`, `flexible`:
 * when a monitor is valid, with `{values}` for the expected values.
 */
export type RecordTypeText = {
  holds: string
  write: string
  example: string
  exact?: string
  flexible?: string
  /** The label, if it is not the name of the type. */
  name?: string
  /** Who can change the record, if it is not the DNS provider. */
  place?: string
  /** A name has at most one such record, so in exact mode there is one expected value. */
  isSingle?: true
  /** Line breaks in a pasted value do not separate values. */
  isText?: true
}

const FIELD_WILDCARDS =
  'Valid when the records include {values}. Others are ignored. A * stands for any value of its field.'
const OPTIONAL_PARAMETERS =
  'Valid when the records include {values}. Other records and parameters are ignored. A * stands for any priority or target.'

/** Every record type that can be monitored. SRV and the types after it are additions of Zonewatch to the specified API. */
const TEXTS = {
  A: {
    holds: 'IPv4 addresses',
    write: 'One IPv4 address per value.',
    example: '192.0.2.1',
    flexible:
      'Valid when the records include {values}. Others are ignored. Address blocks are allowed too, such as 192.0.2.0/24.',
  },
  AAAA: {
    holds: 'IPv6 addresses',
    write: 'One IPv6 address per value, in any spelling.',
    example: '2001:db8::1',
    flexible:
      'Valid when the records include {values}. Others are ignored. Address blocks are allowed too, such as 2001:db8::/32.',
  },
  CNAME: {
    holds: 'the target of the name',
    write: 'A host name. A name has one target, so expect one value.',
    example: 'shop.provider.example',
    exact: 'Valid when the CNAME target is {values}.',
    flexible: 'Valid when {values} is any name on the CNAME chain.',
    isSingle: true, // RFC 2181 section 10.1
  },
  MX: {
    holds: 'its mail hosts',
    write: 'One host per value. A priority in front of it (10 mail.example.com) must match, too.',
    example: '10 mail.example.com',
    exact: 'Valid when the mail hosts are exactly {values}. Priorities are compared if you enter them.',
  },
  TXT: {
    holds: 'texts: verifications, DMARC, DKIM',
    write: 'The text itself, or in quotes as your provider shows it. Letter case matters.',
    example: 'v=DMARC1; p=reject',
    exact: 'Valid when the texts are exactly {values}.',
    flexible:
      'Valid when the texts include {values}. Other texts are ignored. SPF, DMARC and DKIM are compared part by part.',
    isText: true,
  },
  NS: {
    holds: 'its name servers',
    write: 'One host name per value.',
    example: 'ns1.example.net',
    place: 'in the zone and at your registrar',
  },
  PTR: {
    holds: 'the name of an address',
    write: 'One host name per value.',
    example: 'mail.example.com',
    place: 'at the hosting or network provider of the address',
  },
  SPF: {
    holds: 'who may send its mail',
    write: 'The whole record, beginning with v=spf1.',
    example: 'v=spf1 include:_spf.example.com -all',
    exact: 'Valid when the SPF record is exactly this text. The number of spaces between its words does not matter.',
    flexible: 'Valid when every mechanism of this text is in the SPF record, in any order. Others are ignored.',
    name: 'SPF (TXT)', // written as TXT
    isSingle: true, // RFC 7208 section 4.5
    isText: true,
  },
  CAA: {
    holds: 'who may issue certificates',
    write: 'Tag and value. Flags in front of them must match, too.',
    example: '0 issue "letsencrypt.org"',
    flexible: 'Valid when the records include {values}. Others are ignored. Flags are compared only if you enter them.',
  },
  SRV: {
    holds: 'host and port of a service',
    write: 'Priority, weight, port and target per value.',
    example: '10 5 5060 sip.example.com',
    flexible: FIELD_WILDCARDS,
  },
  TLSA: {
    holds: 'the certificate of a service (DANE)',
    write: 'Usage, selector, matching type and data in hexadecimal per value.',
    example: '3 1 1 0c72ac70b745ac19998811b131d662c9ac69dbdbe7cb23e5b514b56664c5d3d6',
    flexible: FIELD_WILDCARDS,
  },
  SSHFP: {
    holds: 'fingerprints of SSH host keys',
    write: 'Algorithm, fingerprint type and fingerprint in hexadecimal per value.',
    example: '4 2 a87f1b687ac0e57d2a081a2f282672334d90ed316d2b818ca9580ea384d92401',
    flexible: FIELD_WILDCARDS,
  },
  HTTPS: {
    holds: 'how its web server is reached',
    write: 'Priority, target and parameters per value, the parameters in any order.',
    example: '1 . alpn=h2,h3',
    flexible: OPTIONAL_PARAMETERS,
  },
  SVCB: {
    holds: 'how a service is reached',
    write: 'Priority, target and parameters per value, the parameters in any order.',
    example: '1 dns.example.com alpn=dot port=853',
    flexible: OPTIONAL_PARAMETERS,
  },
  DS: {
    holds: 'its DNSSEC keys, as published in the parent zone',
    write: 'Key tag, algorithm, digest type and digest in hexadecimal per value.',
    example: '60485 5 2 d4b7d520e7bb5f0f67674a0cceb1e3e0614b93c4f9e99b8383f6a1e4469da50a',
    flexible: FIELD_WILDCARDS,
    place: 'at your registrar, or in the parent zone',
  },
  SOA: {
    holds: 'the primary server and times of its zone',
    write:
      'Primary server, mailbox, serial, refresh, retry, expire and minimum. The serial changes with every change of the zone: leave it open with * in flexible mode.',
    example: 'ns1.example.com hostmaster.example.com * 3600 900 1209600 300',
    flexible: FIELD_WILDCARDS,
    isSingle: true, // RFC 1035 section 5.2
  },
  NAPTR: {
    holds: 'rules that lead to its services',
    write: 'Order, preference, flags, services, expression and replacement per value.',
    example: '100 10 "U" "E2U+sip" "!^.*$!sip:info@example.com!" .',
    flexible: FIELD_WILDCARDS,
  },
} satisfies Record<string, RecordTypeText>

export type MonitorRecordType = keyof typeof TEXTS
export const RECORD_TYPE_TEXTS: Readonly<Record<MonitorRecordType, RecordTypeText>> = TEXTS
export const RECORD_TYPES = Object.keys(TEXTS) as MonitorRecordType[] // Object.keys returns strings
