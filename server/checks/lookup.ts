import type { DnsClient, QueryOptions } from '../dns/client.ts'
import { isCnameLoop } from '../dns/cname-chain.ts'
import type { CnameChain, Reply, RRset } from '../dns/outcome.ts'
import type { AuthoritativeClient, AuthoritativeReply } from '../dns/resolver/authoritative-client.ts'
import type { MonitoredType } from '../monitors/record-types/record-type.ts'
import type { NameServerReply } from './check.ts'

/** Asks all that a monitor's check needs to know, on the path that the options name. */
export type MonitorQuery = (dns: Pick<DnsClient, 'query'>, options: QueryOptions) => Promise<Reply>

export type MonitoredName = { owner: string; recordType: MonitoredType; isExactMatch: boolean }

/** One question for most monitors. A flexible CNAME is met by any name on the chain, which takes one question a link. */
export function monitorQueryFor({ owner, recordType, isExactMatch }: MonitoredName): MonitorQuery {
  const { queryType, flexibleView } = recordType
  if (flexibleView && !isExactMatch) {
    return async (dns, options) =>
      normalizeValues(await dns.query({ name: owner, type: queryType }, options), flexibleView)
  }
  if (recordType.name !== 'CNAME') return (dns, options) => dns.query({ name: owner, type: queryType }, options)
  return isExactMatch
    ? (dns, options) => queryFirstCname(owner, dns, options)
    : (dns, options) => followCnameChain(owner, dns, options)
}

/** The evidence stays whole. */
function normalizeValues({ outcome, ...reply }: Reply, view: (value: string) => string): Reply {
  if (outcome.kind !== 'answer') return { ...reply, outcome }
  return { ...reply, outcome: { ...outcome, rrset: { ...outcome.rrset, values: outcome.rrset.values.map(view) } } }
}

/** For a whole chain, however many links it has: a verdict must not take for ever. */
const CHAIN_TIMEOUT_MS = 6_000

type QueryClient = Parameters<MonitorQuery>[0]

/** Some servers send more of the chain along than was asked for: it is left out, so that all say the same. */
async function queryFirstCname(owner: string, dns: QueryClient, options: QueryOptions): Promise<Reply> {
  const { outcome, evidence } = await dns.query({ name: owner, type: 'CNAME' }, options)
  return { outcome: outcome.kind === 'answer' ? { ...outcome, chain: [] } : outcome, evidence }
}

async function followCnameChain(owner: string, dns: QueryClient, options: QueryOptions): Promise<Reply> {
  const first = await dns.query({ name: owner, type: 'CNAME' }, options)
  if (first.outcome.kind !== 'answer') return first
  const { rrset } = first.outcome
  const evidence = [...first.evidence]
  const links: CnameChain = [linkOf(rrset), ...first.outcome.chain]
  for (;;) {
    if (isCnameLoop(links)) return { outcome: { kind: 'cname_loop', chain: links }, evidence }
    const totalTimeoutMs = CHAIN_TIMEOUT_MS - evidence.reduce((sum, { ms }) => sum + ms, 0)
    if (totalTimeoutMs <= 0) return { outcome: { kind: 'timeout' }, evidence }
    const { outcome, evidence: more } = await dns.query(
      { name: links.at(-1)!.target, type: 'CNAME' },
      { ...options, totalTimeoutMs },
    )
    evidence.push(...more)
    if (outcome.kind === 'answer') links.push(linkOf(outcome.rrset), ...outcome.chain)
    else if (outcome.kind === 'nodata' || outcome.kind === 'nxdomain') {
      return { outcome: { kind: 'answer', rrset, chain: links.slice(1) }, evidence }
    }
    // Where a link cannot be asked, what lies behind it is not known: that is a failure, not a mismatch.
    else return { outcome, evidence }
  }
}

function linkOf({ name, values, ttl }: RRset): CnameChain[number] {
  const target = values[0]!
  return { name, target: target === '.' ? '' : target, ttl }
}

/** All that the check asks, of one of the zone's name servers. */
export async function queryNameServer(
  authoritativeClient: AuthoritativeClient,
  lookup: MonitorQuery,
  server: number,
  fresh: boolean,
  signal: AbortSignal,
): Promise<NameServerReply> {
  let first: { owner: string; reply: AuthoritativeReply } | undefined
  let isFromCache = false
  const dns: Parameters<MonitorQuery>[0] = {
    async query(question, options) {
      const reply = await authoritativeClient.query(question, {
        firstServer: server,
        fresh,
        totalTimeoutMs: options?.totalTimeoutMs,
        signal,
      })
      first ??= { owner: question.name, reply }
      isFromCache ||= reply.isFromCache
      return reply
    },
  }
  const { outcome, evidence } = await lookup(dns, { signal })
  if (!first) throw new Error('A lookup sent no query.')
  return { ...first.reply, owner: first.owner, server, outcome, evidence, isFromCache }
}
