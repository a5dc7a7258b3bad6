import type { DnsClient, QueryOptions } from '../dns/client.ts'
import { isCnameLoop } from '../dns/cname-chain.ts'
import type { CnameChain, Reply, RRset } from '../dns/outcome.ts'
import type { AuthoritativeClient, AuthoritativeReply } from '../dns/resolver/authoritative-client.ts'
import { QueryBudget } from '../dns/resolver/query-budget.ts'
import type { ZoneView } from '../dns/resolver/zone-view.ts'
import type { MonitoredType } from '../record-types/record-type.ts'
import type { NameServerReply } from './check-state.ts'

type QueryClient = Pick<DnsClient, 'query'>

/** Queries all records that a monitor's check needs. */
export type MonitorQuery = (dns: QueryClient, options: QueryOptions) => Promise<Reply>

export type MonitoredName = { owner: string; recordType: MonitoredType; isExactMatch: boolean }

/** One query for most monitors. In flexible mode any name of a CNAME chain matches, which takes one query for each link. */
export function monitorQueryFor({ owner, recordType, isExactMatch }: MonitoredName): MonitorQuery {
  const { name, queryType, flexibleView } = recordType
  if (name === 'CNAME') return isExactMatch ? queryFirstCname(owner) : queryCnameChain(owner)
  if (!flexibleView || isExactMatch) return (dns, options) => dns.query({ name: owner, type: queryType }, options)
  return async (dns, options) => {
    const reply = await dns.query({ name: owner, type: queryType }, options)
    const { outcome } = reply
    if (outcome.kind !== 'answer') return reply
    return {
      ...reply,
      outcome: { ...outcome, rrset: { ...outcome.rrset, values: outcome.rrset.values.map(flexibleView) } },
    }
  }
}

/** Some servers return more of the chain than was queried. It is removed, so that all replies are equal. */
function queryFirstCname(owner: string): MonitorQuery {
  return async (dns, options) => {
    const { outcome, evidence } = await dns.query({ name: owner, type: 'CNAME' }, options)
    return { outcome: outcome.kind === 'answer' ? { ...outcome, chain: [] } : outcome, evidence }
  }
}

/** What sends queries, for one organization: those that wait for a server take turns by organization. */
export function forOrganization<T extends { dns: DnsClient; authoritativeClient?: AuthoritativeClient | undefined }>(
  deps: T,
  group: string,
): T & { group: string } {
  const { dns, authoritativeClient: client } = deps
  const ofGroup: DnsClient = { ...dns, query: (question, options) => dns.query(question, { ...options, group }) }
  if (!client) return { ...deps, dns: ofGroup, group }
  const authoritativeClient: AuthoritativeClient = {
    ...client,
    query: (question, options) => client.query(question, { ...options, group }),
    zoneView: (question, options) => client.zoneView(question, { ...options, group }),
  }
  return { ...deps, dns: ofGroup, authoritativeClient, group }
}

/** What sends the queries of one check, within one budget. */
export function withQueryBudget<T extends { dns: DnsClient; authoritativeClient?: AuthoritativeClient | undefined }>(
  deps: T,
  budget = new QueryBudget(),
): T & { budget: QueryBudget } {
  const { authoritativeClient: client } = deps
  const beforeTcp = (signal: AbortSignal | undefined) => budget.takePlace(signal)
  const dns: DnsClient = {
    ...deps.dns,
    query: (question, options) => deps.dns.query(question, { ...options, beforeTcp }),
  }
  if (!client) return { ...deps, dns, budget }
  const authoritativeClient: AuthoritativeClient = {
    ...client,
    query: (question, options) => client.query(question, { ...options, budget }),
    zoneView: (question, options) => client.zoneView(question, { ...options, budget }),
  }
  return { ...deps, dns, authoritativeClient, budget }
}

/** For a whole chain, however many links it has. */
const CHAIN_TIMEOUT_MS = 6_000

function queryCnameChain(owner: string): MonitorQuery {
  return async (dns, options) => {
    const first = await dns.query({ name: owner, type: 'CNAME' }, options)
    if (first.outcome.kind !== 'answer') return first
    const { rrset } = first.outcome
    const evidence = [...first.evidence]
    const links: CnameChain = [linkOf(rrset), ...first.outcome.chain]
    for (;;) {
      if (isCnameLoop(links)) return { outcome: { kind: 'cname_loop', chain: links }, evidence }
      const totalTimeoutMs = CHAIN_TIMEOUT_MS - evidence.reduce((sum, { ms }) => sum + ms, 0)
      if (totalTimeoutMs <= 0) return { outcome: { kind: 'timeout' }, evidence }
      const next = await dns.query({ name: links.at(-1)!.target, type: 'CNAME' }, { ...options, totalTimeoutMs })
      const { outcome } = next
      evidence.push(...next.evidence)
      if (outcome.kind === 'answer') links.push(linkOf(outcome.rrset), ...outcome.chain)
      else if (outcome.kind === 'nodata' || outcome.kind === 'nxdomain') {
        return { outcome: { kind: 'answer', rrset, chain: links.slice(1) }, evidence }
      }
      // If a link cannot be queried, the rest of the chain is unknown: a failure, not a mismatch.
      else return { outcome, evidence }
    }
  }
}

function linkOf({ name, values, ttl }: RRset): CnameChain[number] {
  const target = values[0]!
  return { name, target: target === '.' ? '' : target, ttl }
}

/**
 * The n-th (`server`) of the name servers of a zone. With `view`, no other one is queried in its place. `fresh`: follows delegations
 * again instead of using the cache; with `view` only those of CNAME targets.
 */
export type NameServerTarget = { view?: ZoneView | undefined; server: number; fresh: boolean }

/** Sends a monitor's query to one of the zone's name servers. */
export async function queryNameServer(
  authoritativeClient: AuthoritativeClient,
  query: MonitorQuery,
  { view, server, fresh }: NameServerTarget,
  signal: AbortSignal,
): Promise<NameServerReply> {
  let first: { owner: string; reply: AuthoritativeReply } | undefined
  let isFromCache = false
  const target = view ? { at: { view, server }, fresh } : { firstServer: server, fresh }
  const dns: QueryClient = {
    async query(question, { totalTimeoutMs } = {}) {
      const reply = await authoritativeClient.query(question, { ...target, totalTimeoutMs, signal })
      first ??= { owner: question.name, reply }
      isFromCache ||= reply.isFromCache
      return reply
    },
  }
  const { outcome, evidence } = await query(dns, { signal })
  if (!first) throw new Error('A monitor query sent no query.')
  return { ...first.reply, owner: first.owner, server, outcome, evidence, isFromCache }
}
