/** What servers say to each other, as far as the simulator needs it. RFC 1035 section 4. Written without the product's code. */

export type RecordType = 'A' | 'CNAME' | 'DNSKEY' | 'DS' | 'MX' | 'NS' | 'SOA' | 'TXT'
export type Rcode = 'NOERROR' | 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED'

/** Names are in lower case, without the trailing dot; the root is the empty string. */
export type Question = { name: string; type: RecordType }

/**
 * A signature of an RRset, without cryptography: a validator needs to know who signed, and whether the signature is valid.
 * `from`, `until`: virtual milliseconds. `isForged`: it does not belong to these values.
 */
export type Signature = { key: string; from: number; until: number; isForged?: true }

/** `ttl`: seconds. `minimum`: of an SOA record, in seconds. */
export type RRset = {
  name: string
  type: RecordType
  ttl: number
  values: readonly string[]
  minimum?: number
  signature?: Signature
}

/** `client`: the region of the end user, as EDNS Client Subset or the location of the resolver shows it. RFC 7871. */
export type Query = Question & { client: string; checkingDisabled?: boolean }

/** `ede`: codes of RFC 8914. `ad`: a validating resolver found everything signed. RFC 4035 section 3.2.3. */
export type Response = {
  rcode: Rcode
  aa: boolean
  ad?: boolean
  answer: readonly RRset[]
  authority: readonly RRset[]
  additional: readonly RRset[]
  ede: readonly number[]
}

export function response(rcode: Rcode, aa: boolean, parts: Partial<Response> = {}): Response {
  return { rcode, aa, answer: [], authority: [], additional: [], ede: [], ...parts }
}

export function isWithin(name: string, zone: string): boolean {
  if (zone === '') return true
  return name.length === zone.length
    ? name === zone
    : name.endsWith(zone) && name[name.length - zone.length - 1] === '.'
}

/** The name above; the root is above every name with one label. */
export function parentOf(name: string): string {
  const dot = name.indexOf('.')
  return dot < 0 ? '' : name.slice(dot + 1)
}
