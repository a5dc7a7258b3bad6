import type { DiagnosisPath } from '#contract/diagnosis.ts'

/** The answer of one server: text, values, or both. */
export type AnswerText = { text: string; values: string[]; ttl: number | undefined; chain: Link[] }
type Link = { name: string; target: string; ttl: number }

export function answerText({ outcome }: DiagnosisPath): AnswerText {
  const textOnly = (text: string, chain: Link[] = []): AnswerText => ({ text, values: [], ttl: undefined, chain })
  if (outcome === null) return textOnly('The answer was too long for UDP. Zonewatch repeated the query over TCP.')
  switch (outcome.kind) {
    case 'answer':
      return answerOf(outcome)
    case 'nodata':
      return textOnly('No record of this type (NODATA).', outcome.chain)
    case 'nxdomain':
      return textOnly('The name does not exist (NXDOMAIN).', outcome.chain)
    case 'cname_loop':
      return textOnly('CNAME loop.', outcome.chain)
    case 'failure':
      return textOnly(
        outcome.bogus ? 'DNSSEC validation failed.' : (FAILURES[outcome.rcode] ?? 'The server could not answer.'),
      )
    case 'referral':
      return { ...textOnly('Referral to'), values: outcome.nameServers }
    case 'lame':
      return textOnly(sentence(outcome.reason))
    case 'malformed':
      return textOnly(`Unusable answer: ${sentence(outcome.reason)}`)
    case 'unreachable':
      return textOnly(`${UNREACHABLE[outcome.reason] ?? 'Unreachable'} (${outcome.reason}).`)
    case 'timeout':
      return textOnly('Timeout.')
  }
}

function answerOf({ rrset, chain }: Extract<DiagnosisPath['outcome'], { kind: 'answer' }>): AnswerText {
  const [target, ...others] = rrset.values
  // A queried CNAME record is the first link of the chain.
  if (rrset.type === 'CNAME' && target !== undefined && others.length === 0) {
    const link = { name: rrset.name, target: target === '.' ? '' : target, ttl: rrset.ttl }
    return { text: '', values: [], ttl: undefined, chain: [link, ...chain] }
  }
  return { text: '', values: rrset.values, ttl: rrset.ttl, chain }
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

/** The names of a CNAME chain, such as `www → shop → edge`, with their TTL in seconds. */
export function chainNames(chain: readonly Link[]): { name: string; ttl: number | undefined }[] {
  const first = chain[0]
  if (!first) return []
  return [
    { name: first.name, ttl: first.ttl },
    ...chain.map(({ target }, index) => ({ name: target || '.', ttl: chain[index + 1]?.ttl })),
  ]
}

const sentence = (reason: string): string => {
  const text = reason.slice(0, 1).toUpperCase() + reason.slice(1)
  return text.endsWith('.') ? text : `${text}.`
}
