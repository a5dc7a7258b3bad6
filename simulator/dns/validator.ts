import { isWithin, type Response, type RRset } from './message.ts'
import { checkSignature } from './validation.ts'

/** `code`: the extended error of RFC 8914. */
export type Validated = { kind: 'secure' | 'unsigned' | 'unknown' } | { kind: 'bogus'; code: number }

/**
 * What a validator makes of a server's responses to queries for the DNSKEY records and for the question. `parents`: the responses of
 * the servers of the parent zone to queries for its DS records. The DS records of any of them will do. RFC 4035 section 5.
 */
export function validate(
  zone: string,
  parents: readonly (Response | undefined)[],
  keyResponse: Response | undefined,
  response: Response | undefined,
  time: number,
): Validated {
  const answered = parents.filter((one) => one !== undefined && one.rcode !== 'SERVFAIL' && one.rcode !== 'REFUSED')
  if (answered.length === 0) return { kind: 'unknown' }
  const sets = answered.map((one) => one!.answer.find(({ type }) => type === 'DS')?.values ?? [])
  if (sets.some((ds) => ds.length === 0)) return { kind: 'unsigned' }
  if (!isAuthoritative(keyResponse) || !isAuthoritative(response)) return { kind: 'unknown' }
  const results = sets.map((ds) => checkWith(zone, ds, keyResponse, response, time))
  const code = results[0]
  return code === undefined || results.includes(undefined) ? { kind: 'secure' } : { kind: 'bogus', code }
}

const isAuthoritative = (one: Response | undefined): one is Response =>
  one?.aa === true && (one.rcode === 'NOERROR' || one.rcode === 'NXDOMAIN')

function checkWith(zone: string, ds: readonly string[], { answer }: Response, response: Response, time: number) {
  const keys = answer.find(({ name, type }) => name === zone && type === 'DNSKEY')
  if (!keys?.values.some((key) => ds.includes(key))) return 9
  const keyProblem = checkSignature(keys, ds, time)
  if (keyProblem !== undefined) return keyProblem
  return signedParts(zone, response)
    .map((rrset) => checkSignature(rrset, keys.values, time))
    .find((problem) => problem !== undefined)
}

/** What must be signed: the answer as far as it is in the zone, and the SOA record of a denial. RFC 4035 section 3.1. */
function signedParts(zone: string, { answer, authority }: Response): RRset[] {
  return [
    ...answer.filter(({ name }) => isWithin(name, zone)),
    ...authority.filter(({ type, name }) => type === 'SOA' && isWithin(name, zone)),
  ]
}
