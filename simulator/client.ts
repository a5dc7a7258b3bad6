import type { DnsClient, QueryOptions } from '#server/dns/client.ts'
import type { Exchange, Outcome, Question as ProductQuestion, Reply, ServerAddress } from '#server/dns/outcome.ts'
import type { VirtualClock } from './clock.ts'
import type { Question, RecordType, Response, RRset } from './dns/message.ts'
import type { Network } from './network.ts'

/**
 * What the product's DNS client does, without packets: it fails over from one server to the next. `wire-client.ts` is the real one,
 * which takes too long for every world.
 */
export function createFastClient(network: Network, clock: VirtualClock, onQuery: (text: string) => void): DnsClient {
  let nextFirst = 0

  async function query(asked: ProductQuestion, options: QueryOptions = {}): Promise<Reply> {
    const { recursionDesired = true, checkingDisabled = false, attempts = 3, accept, signal } = options
    const timeoutMs = options.timeoutMs ?? 2_000
    const question: Question = { name: asked.name, type: asked.type as RecordType }
    const list = options.servers ?? startingAt(options.startAt ?? nextFirst++)
    const candidates = [...list]
    const evidence: Exchange[] = []
    const failures: Outcome[] = []
    let remainingMs = Math.min(options.totalTimeoutMs ?? Number.POSITIVE_INFINITY, timeoutMs * attempts)
    for (let attempt = 0; attempt < attempts && remainingMs > 0; attempt++) {
      const server = candidates.shift()
      if (!server) break
      const waitMs = Math.min(timeoutMs, remainingMs)
      const received = network.receive(server.ip, question, checkingDisabled, waitMs)
      const ms = received?.ms ?? waitMs
      const waiting = received ? clock.pass(ms) : clock.sleep(ms, signal)
      if (waiting) await waiting
      signal?.throwIfAborted()
      remainingMs -= ms
      const exchange = toExchange(server, question, received?.response, ms, recursionDesired)
      evidence.push(exchange)
      onQuery(textOf(exchange, question, checkingDisabled))
      const outcome = exchange.outcome!
      const isFinal = outcome.kind === 'referral' ? !recursionDesired || outcome.chain.length > 0 : isUsable(outcome)
      if (accept ? accept(exchange) : isFinal) return { outcome, evidence }
      failures.push(outcome)
      if (outcome.kind === 'timeout') candidates.push(server)
    }
    const reported = failures.find(({ kind }) => kind === 'failure') ?? failures.find(({ kind }) => kind === 'referral')
    return { outcome: reported ?? { kind: 'timeout' }, evidence }
  }

  function startingAt(number: number): ServerAddress[] {
    const first = number % network.resolvers.length
    return [...network.resolvers.slice(first), ...network.resolvers.slice(0, first)]
  }

  return { servers: network.resolvers, query, statuses: () => [], close: async () => {} }
}

function isUsable({ kind }: Outcome): boolean {
  return kind === 'answer' || kind === 'nodata' || kind === 'nxdomain' || kind === 'cname_loop'
}

// What the product's client would read from the packet

function toExchange(
  server: ServerAddress,
  question: Question,
  response: Response | undefined,
  ms: number,
  isRecursive: boolean,
): Exchange {
  const address = `${server.ip}:${server.port}`
  const base = { server: address, transport: 'udp' as const, ms }
  if (!response) return { ...base, rcode: null, flags: [], ede: [], outcome: { kind: 'timeout' } }
  const ede = response.ede.map((code) => ({ code, text: '' }))
  const flags = [...(response.aa ? ['aa'] : []), ...(isRecursive ? ['rd', 'ra'] : []), ...(response.ad ? ['ad'] : [])]
  return { ...base, rcode: response.rcode, flags, ede, outcome: toOutcome(response, question, ede) }
}

function toOutcome(response: Response, { name, type }: Question, ede: { code: number; text: string }[]): Outcome {
  const { rcode, answer, authority } = response
  if (rcode !== 'NOERROR' && rcode !== 'NXDOMAIN') return { kind: 'failure', rcode, ede }
  const links = type === 'CNAME' ? [] : answer.filter((rrset) => rrset.type === 'CNAME')
  const chain = links.map(({ name, values, ttl }) => ({ name, target: values[0]!, ttl }))
  const rrset = answer.find((one) => one.type === type && (type !== 'CNAME' || one.name === name))
  if (rrset) return { kind: 'answer', rrset: toRRset(rrset), chain }
  if (rcode === 'NXDOMAIN') return { kind: 'nxdomain', chain }
  const isDenial = authority.some((one) => one.type === 'SOA')
  if (chain.length > 0 && response.aa && !isDenial)
    return { kind: 'referral', chain, zone: undefined, nameServers: [], glue: [], ttl: 0 }
  const ns = authority.find((one) => one.type === 'NS')
  if (!isDenial && !response.aa && ns) return { kind: 'referral', chain, ...delegationOf(ns, response) }
  return { kind: 'nodata', chain }
}

function delegationOf(ns: RRset, { additional }: Response) {
  const glue = additional.flatMap(({ name, type, values }) => (type === 'A' ? values.map((ip) => ({ name, ip })) : []))
  return { zone: ns.name, nameServers: [...ns.values], glue, ttl: ns.ttl }
}

function toRRset({ name, type, ttl, values }: RRset) {
  return { name, type: type as ProductQuestion['type'], ttl, values: [...values] }
}

function textOf({ server, outcome, ede }: Exchange, { name, type }: Question, checkingDisabled: boolean): string {
  const result =
    outcome?.kind === 'answer'
      ? `${outcome.rrset.values.join(' ')} TTL ${outcome.rrset.ttl}`
      : outcome?.kind === 'failure'
        ? outcome.rcode
        : outcome?.kind === 'referral'
          ? `referral to ${outcome.nameServers.join(' ')}`
          : outcome?.kind
  const errors = ede.length > 0 ? ` EDE ${ede.map(({ code }) => code).join(' ')}` : ''
  return `${server} ${name} ${type}${checkingDisabled ? ' CD' : ''}: ${result}${errors}`
}
