import type { CnameChain, Evidence, ExtendedError, Outcome } from '../dns/outcome.ts'
import { table } from './table.ts'

const MOST_VALUES = 4
const MOST_TEXT = 60

/** Every exchange of a check, one line each: who was asked, how, and what came back. */
export function evidenceTable(evidence: readonly Evidence[]): string {
  const times = evidence.map(({ ms }) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`)
  const width = Math.max(0, ...times.map((time) => time.length))
  const rows = evidence.map((each, at) => [
    each.path ?? 'recursive',
    nameOf(each),
    each.transport,
    each.rcode ?? '-',
    each.flags.join(' ') || '-',
    times[at]!.padStart(width),
    [shown(each.outcome), ...each.ede.map(shownError)].join('; '),
  ])
  return table(['PATH', 'SERVER', 'VIA', 'RCODE', 'FLAGS', 'TIME', 'ANSWER'], rows)
}

/** The root servers go by their addresses. */
function nameOf({ name, server }: Evidence): string {
  return name === undefined || server.includes(name) ? server : `${name} (${server})`
}

function shown(outcome: Outcome | null): string {
  if (outcome === null) return 'truncated; repeated over TCP'
  switch (outcome.kind) {
    case 'answer':
      return `${chainOf(outcome.chain)}${valuesOf(outcome.rrset.values)}  TTL ${outcome.rrset.ttl}`
    case 'nodata':
      return `${chainOf(outcome.chain)}NODATA`
    case 'nxdomain':
      return `${chainOf(outcome.chain)}NXDOMAIN`
    case 'cname_loop':
      return `${chainOf(outcome.chain)}CNAME loop`
    case 'referral':
      return outcome.chain.length > 0
        ? `${chainOf(outcome.chain)}referral`
        : `referral to ${valuesOf(outcome.nameServers)}`
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

function chainOf(chain: CnameChain): string {
  return chain.map(({ target }) => `${target || '.'} → `).join('')
}

function valuesOf(values: readonly string[]): string {
  const few = values
    .slice(0, MOST_VALUES)
    .map((text) => (text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text))
  return values.length > few.length ? `${few.join(', ')}, … ${values.length - few.length} more` : few.join(', ')
}

function shownError({ code, text }: ExtendedError): string {
  return text === '' ? `EDE ${code}` : `EDE ${code} ${text}`
}
