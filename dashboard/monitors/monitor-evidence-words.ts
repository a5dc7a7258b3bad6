import type { DiagnosisPath } from '#contract/diagnosis.ts'

/** What one server answered: in words, as values, or both. */
export type Said = { words: string; values: string[]; ttl: number | undefined; chain: Link[] }
type Link = { name: string; target: string; ttl: number }

export function saidBy({ outcome }: DiagnosisPath): Said {
  const said = (words: string, chain: Link[] = []): Said => ({ words, values: [], ttl: undefined, chain })
  if (outcome === null) return said('The answer was too long for UDP; asked again over TCP.')
  switch (outcome.kind) {
    case 'answer':
      return answered(outcome)
    case 'nodata':
      return said('No record of this type.', outcome.chain)
    case 'nxdomain':
      return said('The name does not exist.', outcome.chain)
    case 'endless_alias':
      return said('The aliases never end.', outcome.chain)
    case 'failure':
      return said(
        outcome.bogus ? 'Refused: DNSSEC validation failed.' : (FAILURES[outcome.rcode] ?? 'The server failed.'),
      )
    case 'referral':
      return { ...said('Knows no more, and refers to'), values: outcome.nameServers }
    case 'lame':
      return said(sentence(outcome.reason))
    case 'malformed':
      return said(`Cannot be used: ${sentence(outcome.reason)}`)
    case 'unreachable':
      return said(`${UNREACHABLE[outcome.reason] ?? 'Cannot be reached'} (${outcome.reason}).`)
    case 'timeout':
      return said('No answer in time.')
  }
}

function answered({ rrset, chain }: Extract<DiagnosisPath['outcome'], { kind: 'answer' }>): Said {
  const [target, ...others] = rrset.values
  // An alias that was asked for itself is the first link of the chain.
  if (rrset.type === 'CNAME' && target !== undefined && others.length === 0) {
    const link = { name: rrset.name, target: target === '.' ? '' : target, ttl: rrset.ttl }
    return { words: '', values: [], ttl: undefined, chain: [link, ...chain] }
  }
  return { words: '', values: rrset.values, ttl: rrset.ttl, chain }
}

const FAILURES: Record<string, string> = {
  SERVFAIL: 'The server could not find an answer.',
  REFUSED: 'The server refuses the question.',
  FORMERR: 'The server does not understand the question.',
  NOTIMP: 'The server cannot answer such questions.',
}

const UNREACHABLE: Record<string, string> = {
  ECONNREFUSED: 'Refuses the connection',
  ENETUNREACH: 'Its network cannot be reached from here',
  EHOSTUNREACH: 'The host cannot be reached from here',
  EADDRNOTAVAIL: 'There is no such kind of address here',
  ECONNRESET: 'Broke the connection off',
}

/** RFC 1035 section 4.1.1, RFC 4035 section 3.1.6. */
export const FLAGS: Record<string, string> = {
  aa: 'Authoritative answer: the server is in charge of the zone.',
  tc: 'Truncated: the answer was too long for one packet.',
  rd: 'Recursion desired: the server was asked to find the answer elsewhere.',
  ra: 'Recursion available: the server finds answers elsewhere when asked to.',
  ad: 'Authentic data: the server checked the signatures of DNSSEC.',
  cd: 'Checking disabled: the server was asked not to check the signatures.',
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
