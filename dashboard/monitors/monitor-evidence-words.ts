import type { DiagnosisPath } from '#contract/diagnosis.ts'

/** What one server answered: in words, as values, or both. */
export type Said = { words: string; values: string[]; ttl: number | undefined; chain: Link[] }
type Link = { name: string; target: string; ttl: number }

export function saidBy({ outcome }: DiagnosisPath): Said {
  const said = (words: string, chain: Link[] = []): Said => ({ words, values: [], ttl: undefined, chain })
  if (outcome === null) return said('The answer was too long for UDP. Zonewatch repeated the query over TCP.')
  switch (outcome.kind) {
    case 'answer':
      return answered(outcome)
    case 'nodata':
      return said('No record of this type (NODATA).', outcome.chain)
    case 'nxdomain':
      return said('The name does not exist (NXDOMAIN).', outcome.chain)
    case 'cname_loop':
      return said('CNAME loop.', outcome.chain)
    case 'failure':
      return said(
        outcome.bogus ? 'DNSSEC validation failed.' : (FAILURES[outcome.rcode] ?? 'The server could not answer.'),
      )
    case 'referral':
      return { ...said('Referral to'), values: outcome.nameServers }
    case 'lame':
      return said(sentence(outcome.reason))
    case 'malformed':
      return said(`Unusable answer: ${sentence(outcome.reason)}`)
    case 'unreachable':
      return said(`${UNREACHABLE[outcome.reason] ?? 'Unreachable'} (${outcome.reason}).`)
    case 'timeout':
      return said('Timeout.')
  }
}

function answered({ rrset, chain }: Extract<DiagnosisPath['outcome'], { kind: 'answer' }>): Said {
  const [target, ...others] = rrset.values
  // A CNAME record that was queried itself is the first link of the chain.
  if (rrset.type === 'CNAME' && target !== undefined && others.length === 0) {
    const link = { name: rrset.name, target: target === '.' ? '' : target, ttl: rrset.ttl }
    return { words: '', values: [], ttl: undefined, chain: [link, ...chain] }
  }
  return { words: '', values: rrset.values, ttl: rrset.ttl, chain }
}

const FAILURES: Record<string, string> = {
  SERVFAIL: 'The server could not find an answer.',
  REFUSED: 'The server refuses the query.',
  FORMERR: 'The server does not understand the query.',
  NOTIMP: 'The server does not support this kind of query.',
}

const UNREACHABLE: Record<string, string> = {
  ECONNREFUSED: 'Connection refused',
  ENETUNREACH: 'Network unreachable',
  EHOSTUNREACH: 'Host unreachable',
  EADDRNOTAVAIL: 'Address family not available',
  ECONNRESET: 'Connection reset',
}

/** RFC 1035 section 4.1.1, RFC 4035 section 3.1.6. */
export const FLAGS: Record<string, string> = {
  aa: 'Authoritative answer: the server is authoritative for the zone.',
  tc: 'Truncated: the answer was too long for one packet.',
  rd: 'Recursion desired: the query asked for recursion.',
  ra: 'Recursion available: the server offers recursion.',
  ad: 'Authentic data: the server validated DNSSEC.',
  cd: 'Checking disabled: the query asked for no DNSSEC validation.',
}

/** The names that an answer led through: `www → shop → edge`, each with what its alias may be kept, in seconds. */
export function chainOf(chain: readonly Link[]): { name: string; ttl: number | undefined }[] {
  const first = chain[0]
  if (!first) return []
  return [
    { name: first.name, ttl: first.ttl },
    ...chain.map(({ target }, at) => ({ name: target || '.', ttl: chain[at + 1]?.ttl })),
  ]
}

const sentence = (reason: string): string => {
  const text = reason.slice(0, 1).toUpperCase() + reason.slice(1)
  return text.endsWith('.') ? text : `${text}.`
}
