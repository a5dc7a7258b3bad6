/**
 * What people read about a record type. `holds`: what such records are, as a noun. `write`: how an expected value is written, in
 * a sentence. `exact`, `flexible`: when a monitor is valid; `{values}` stands for the expected values, `{are}` for is or are.
 */
export type RecordTypeText = {
  holds: string
  write: string
  example: string
  exact?: string
  flexible?: string
  /** Other than the type itself. */
  name?: string
  /** Who can change the record, where that is not the DNS provider. */
  place?: string
  /** A name has at most one such record, so that in exact mode only one value can ever match. */
  isSingle?: true
  /** A value may hold line breaks where it is pasted from: they separate no values. */
  isText?: true
}

/** Every record type that can be monitored. Those from SRV on are no part of the API that Zonewatch implements, but its own. */
const TEXTS = {
  A: {
    holds: 'IPv4 addresses',
    write: 'An IPv4 address each.',
    example: '192.0.2.1',
    flexible: 'Valid when {values} {are} there; there may be more. Takes blocks too, such as 192.0.2.0/24.',
  },
  AAAA: {
    holds: 'IPv6 addresses',
    write: 'An IPv6 address each, in any spelling.',
    example: '2001:db8::1',
    flexible: 'Valid when {values} {are} there; there may be more. Takes blocks too, such as 2001:db8::/32.',
  },
  CNAME: {
    holds: 'the name it is an alias of',
    write: 'A host name. A name has one target, so expect one.',
    example: 'shop.provider.example',
    exact: 'Valid when it points straight at {values}.',
    flexible: 'Valid when {values} stands anywhere on its chain of aliases.',
    isSingle: true, // RFC 2181 section 10.1
  },
  MX: {
    holds: 'where its mail goes',
    write: 'A host each; with a priority before it (10 mail.example.com) that counts too.',
    example: '10 mail.example.com',
    exact: 'Valid when its mail hosts are {values}: none less, none more. A priority counts where you write one.',
  },
  TXT: {
    holds: 'texts: verifications, DMARC, DKIM',
    write: 'The text as it stands, or as your provider shows it in quotes. Letter case counts.',
    example: 'v=DMARC1; p=reject',
    exact: 'Valid when its texts are {values}: none less, and no other text beside.',
    flexible:
      'Valid when {values} {are} there; there may be other texts. SPF, DMARC and DKIM are compared part by part.',
    isText: true,
  },
  NS: {
    holds: 'its name servers',
    write: 'A host name each.',
    example: 'ns1.example.net',
    place: 'in the zone, and at your registrar too',
  },
  PTR: {
    holds: 'the name of an address',
    write: 'A host name each.',
    example: 'mail.example.com',
    place: 'where the address comes from: its hosting or network provider sets reverse names',
  },
  SPF: {
    holds: 'who may send its mail',
    write: 'The whole record, beginning with v=spf1.',
    example: 'v=spf1 include:_spf.example.com -all',
    exact: 'Valid when the SPF record is exactly this text. How many blanks stand between its words does not matter.',
    flexible: 'Valid when every mechanism of this text is in the SPF record, in any order; there may be more.',
    name: 'SPF (TXT)', // written as TXT
    isSingle: true, // RFC 7208 section 4.5
    isText: true,
  },
  CAA: {
    holds: 'who may issue certificates',
    write: 'Tag and value; flags before them count too.',
    example: '0 issue "letsencrypt.org"',
    flexible: 'Valid when {values} {are} there; there may be more. Flags count only where you write them.',
  },
} satisfies Record<string, RecordTypeText>

export type MonitorRecordType = keyof typeof TEXTS
export const RECORD_TYPE_TEXTS: Readonly<Record<MonitorRecordType, RecordTypeText>> = TEXTS
export const RECORD_TYPES = Object.keys(TEXTS) as MonitorRecordType[] // exactly its keys
