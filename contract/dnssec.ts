import { Type } from 'typebox'
import { StrictObject } from './common.ts'
import { listed } from './reason-wording.ts'

type Params = {
  zone: string
  name: string
  type: string
  key_tag: number
  key_tags: readonly number[]
  /** ISO 8601. */
  at: string
  rcode: string
}
type Entry<P extends keyof Params> = {
  about: string
  params: readonly P[]
  text(params: Pick<Params, P>): string
}
const entry = <const P extends keyof Params>(
  about: string,
  params: readonly P[],
  text: Entry<P>['text'],
): Entry<P> => ({
  about,
  params,
  text,
})

type Rrset = Pick<Params, 'name' | 'type'>
const minute = (at: string) => `${at.slice(0, 16).replace('T', ' ')} UTC`
const rrset = ({ name, type }: Rrset) => `${name || '.'} ${type}`
const tags = (keyTags: readonly number[]) => listed(keyTags.map(String))

/** Why the data of a signed zone fails DNSSEC validation, by code. Each `about` names the section that requires what is missing. */
export const DNSSEC_CAUSES = {
  no_keys: entry(
    'The parent zone has DS records, but the zone has no DNSKEY records. RFC 4035 section 5.2.',
    ['zone', 'key_tags'],
    ({ zone, key_tags }) =>
      `${zone} has no DNSKEY records, although its parent has DS records (key ${tags(key_tags)}).`,
  ),
  no_key_for_ds: entry(
    'No DNSKEY record matches a DS record of the parent zone. RFC 4035 section 5.2.',
    ['zone', 'key_tags'],
    ({ zone, key_tags }) => `No DNSKEY record of ${zone} matches the DS records of its parent (key ${tags(key_tags)}).`,
  ),
  keys_unsigned: entry(
    'The DNSKEY records are not signed by a key that a DS record matches. RFC 4035 section 5.2.',
    ['zone', 'key_tags'],
    ({ zone, key_tags }) =>
      `The DNSKEY records of ${zone} are not signed by the key of the DS records (key ${tags(key_tags)}).`,
  ),
  missing_signature: entry(
    'An RRset has no signature of the zone with a supported algorithm. RFC 4035 section 5.3.1.',
    ['name', 'type'],
    (params) => `The signature of ${rrset(params)} is missing.`,
  ),
  no_key_for_signature: entry(
    'The key that signed an RRset is not among the DNSKEY records. RFC 4035 section 5.3.1.',
    ['name', 'type', 'key_tag'],
    (params) =>
      `The signature of ${rrset(params)} is by key ${params.key_tag}, which is not among the DNSKEY records of the zone.`,
  ),
  signature_expired: entry(
    'The signature of an RRset expired. RFC 4035 section 5.3.1.',
    ['name', 'type', 'key_tag', 'at'],
    (params) => `The signature of ${rrset(params)} expired at ${minute(params.at)}.`,
  ),
  signature_not_yet_valid: entry(
    'The signature of an RRset is not valid yet. RFC 4035 section 5.3.1.',
    ['name', 'type', 'key_tag', 'at'],
    (params) => `The signature of ${rrset(params)} is not valid before ${minute(params.at)}.`,
  ),
  invalid_signature: entry(
    'The signature of an RRset does not match its records and the key. RFC 4035 section 5.3.3.',
    ['name', 'type', 'key_tag'],
    (params) => `The signature of ${rrset(params)} by key ${params.key_tag} does not match the records.`,
  ),
  missing_denial: entry(
    'A denial has no NSEC or NSEC3 records. RFC 4035 section 5.4.',
    ['name', 'type'],
    (params) => `The denial of ${rrset(params)} has no NSEC or NSEC3 records.`,
  ),
  bad_denial: entry(
    'The NSEC or NSEC3 records of a denial do not prove it. RFC 4035 section 5.4, RFC 5155 section 8.',
    ['name', 'type'],
    (params) => `The NSEC or NSEC3 records do not prove that ${rrset(params)} does not exist.`,
  ),
  bad_wildcard: entry(
    'An answer is from a wildcard, without proof that no closer name exists. RFC 4035 section 5.3.4, RFC 5155 section 8.8.',
    ['name', 'type'],
    (params) => `${rrset(params)} is an answer from a wildcard, without proof that the name itself does not exist.`,
  ),
  bad_dname: entry(
    'A CNAME record without signature differs from the DNAME record above it. RFC 6672 section 5.3.1.',
    ['name'],
    ({ name }) => `The CNAME record of ${name} does not follow from the DNAME record above it.`,
  ),
} as const
export type DnssecCauseCode = keyof typeof DNSSEC_CAUSES

/** As it is stored: a code with its parameters. */
export type DnssecCause = {
  [Code in DnssecCauseCode]: { code: Code; params: Pick<Params, (typeof DNSSEC_CAUSES)[Code]['params'][number]> }
}[DnssecCauseCode]

export const DnssecCause = Type.Unsafe<DnssecCause>(
  StrictObject(
    {
      code: Type.Enum(Object.keys(DNSSEC_CAUSES) as DnssecCauseCode[], { type: 'string' }),
      params: Type.Record(Type.String(), Type.Unknown()),
    },
    {
      description: 'Why validation fails. Codes and parameter names never change their meaning. New ones may be added.',
    },
  ),
)

export const dnssecCauseText = ({ code, params }: DnssecCause): string =>
  (DNSSEC_CAUSES[code] as Entry<keyof Params>).text(params as Params)

/** The cause with the name servers where it was found. */
export const dnssecFindingText = ({
  name_servers,
  cause,
}: {
  name_servers: readonly string[]
  cause: DnssecCause
}): string => `${dnssecCauseText(cause).replace(/\.$/, '')} (${listed(name_servers)}).`

/** Why validators take data for unsigned, although its zone may have signatures. */
export const UNSIGNED_REASONS = {
  no_ds: 'The parent zone has no DS records. RFC 4035 section 5.2.',
  no_ds_above: 'A zone above has no DS records, so no chain of trust leads to the zone. RFC 4033 section 5.',
  unsupported_algorithms: 'All DS records have unsupported algorithms or digest types. RFC 4035 section 5.2.',
  opt_out: 'The denial rests on an NSEC3 record with opt-out. RFC 5155 section 9.2.',
  nsec3_iterations: 'The NSEC3 records have more iterations than validators accept. RFC 9276 section 3.2.',
} as const
export type UnsignedReason = keyof typeof UNSIGNED_REASONS

/** Why there is no verdict. */
export const UNKNOWN_REASONS = {
  no_answer: 'The server gave no answer: it timed out, failed, or is not authoritative.',
  no_answer_above: 'The servers of a zone above gave no DS or DNSKEY records.',
  malformed: 'A response cannot be parsed.',
  other_zone: 'The answer is of a zone below, or of another zone on the same server.',
  too_many_queries:
    'The check has sent as many queries as it may: 200, or 100 to the servers of one zone. Or it keeps 512 KiB of answers.',
  too_much_work: 'The responses need more signature checks or hashes than one check may make.',
} as const
export type UnknownReason = keyof typeof UNKNOWN_REASONS
