import type { CnameChain, Exchange, ExtendedError, Outcome } from '../dns/outcome.ts'
import { truncate } from '../text.ts'
import { table } from './table.ts'

const MAX_VALUES = 4
const MAX_VALUE_LENGTH = 60

/** One line for each query of a check: the server, the transport and the answer. */
export function evidenceTable(evidence: readonly Exchange[]): string {
  const times = evidence.map(({ ms }) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`)
  const width = Math.max(0, ...times.map((time) => time.length))
  const asked = questionText(evidence[0])
  const rows = evidence.map((query, index) => [
    query.path ?? 'recursive',
    serverText(query),
    query.transport,
    query.rcode ?? '-',
    query.flags.join(' ') || '-',
    times[index]!.padStart(width),
    [outcomeText(query.outcome), ...query.ede.map(edeText), ...otherQuestion(query, asked)].join('; '),
  ])
  return table(['PATH', 'SERVER', 'VIA', 'RCODE', 'FLAGS', 'TIME', 'ANSWER'], rows)
}

/** What was queried, if that was not the name and type of the first query. */
function otherQuestion(query: Exchange, asked: string): string[] {
  const text = questionText(query)
  return text === asked ? [] : [`asked for ${text}`]
}

const questionText = (query: Exchange | undefined) =>
  query?.question ? `${query.question.name || '.'} ${query.question.type}` : ''

/** The name of a root server is its address, so it is shown once. */
function serverText({ name, server }: Exchange): string {
  return name === undefined || server.includes(name) ? server : `${name} (${server})`
}

function outcomeText(outcome: Outcome | null): string {
  if (outcome === null) return 'truncated; repeated over TCP'
  switch (outcome.kind) {
    case 'answer':
      return `${chainText(outcome.chain)}${valuesText(outcome.rrset.values)}  TTL ${outcome.rrset.ttl}`
    case 'nodata':
      return `${chainText(outcome.chain)}NODATA`
    case 'nxdomain':
      return `${chainText(outcome.chain)}NXDOMAIN`
    case 'cname_loop':
      return `${chainText(outcome.chain)}CNAME loop`
    case 'referral':
      return outcome.chain.length > 0
        ? `${chainText(outcome.chain)}referral`
        : `referral to ${valuesText(outcome.nameServers)}`
    case 'failure':
      return 'failed'
    case 'lame':
    case 'malformed':
    case 'unreachable':
      return outcome.reason
    case 'timeout':
      return 'timeout'
  }
}

function chainText(chain: CnameChain): string {
  return chain.map(({ target }) => `${target || '.'} → `).join('')
}

function valuesText(values: readonly string[]): string {
  const first = values
    .slice(0, MAX_VALUES)
    .map((text) => truncate(text, MAX_VALUE_LENGTH))
    .join(', ')
  return values.length > MAX_VALUES ? `${first}, … ${values.length - MAX_VALUES} more` : first
}

function edeText({ code, text }: ExtendedError): string {
  return text === '' ? `EDE ${code}` : `EDE ${code} ${text}`
}
