import { randomInt } from 'node:crypto'
import { decode } from 'dns-packet'
import { createDnsClient, type DnsClient } from '#server/dns/client.ts'
import type { Outcome } from '#server/dns/outcome.ts'
import type { Send } from '#server/dns/transport.ts'
import { RDATA_FORMATS } from '#server/record-types/record-types.ts'
import type { VirtualClock } from './clock.ts'
import type { RecordType } from './dns/message.ts'
import type { Network } from './network.ts'
import { encodeResponse } from './wire-format.ts'

const CHECKING_DISABLED = 0x10
/** Longer than any query of the product waits. */
const NEVER_MS = 60_000

/** The product's own DNS client, with its packets, failover and limits, over a world instead of sockets. */
export function createWireClient(network: Network, clock: VirtualClock, onQuery: (text: string) => void): DnsClient {
  const resolvers = new Set(network.resolvers.map(({ ip }) => ip))

  const sendTo = (ip: string): Send => {
    return (query, done) => {
      query.writeUInt16BE(randomInt(0x10000), 0)
      const packet = decode(query)
      const question = packet.questions![0]!
      const hasEdns = packet.additionals?.some(({ type }) => type === 'OPT') ?? false
      const name = question.name === '.' ? '' : question.name.toLowerCase()
      const isUnvalidated = ((packet.flags ?? 0) & CHECKING_DISABLED) !== 0
      const received = network.receive(ip, { name, type: question.type as RecordType }, isUnvalidated, NEVER_MS)
      const arrived = new AbortController()
      if (received) {
        const bytes = encodeResponse(packet.id ?? 0, question, received.response, {
          hasEdns,
          isRecursive: resolvers.has(ip),
        })
        void clock.sleep(received.ms).then(() => {
          if (!arrived.signal.aborted) done({ kind: 'packet', packet: bytes })
        })
      }
      return () => {
        arrived.abort()
        return undefined
      }
    }
  }

  return createDnsClient({
    servers: network.resolvers,
    clock,
    formats: RDATA_FORMATS,
    onExchange: ({ server, outcome, rcode }) => onQuery(`${server}: ${outcome?.kind} ${rcode} ${valuesOf(outcome)}`),
    transports: { udp: ({ ip }) => ({ send: sendTo(ip), close: () => {} }), tcp: ({ ip }) => sendTo(ip) },
  })
}

const valuesOf = (outcome: Outcome | null) => (outcome?.kind === 'answer' ? outcome.rrset.values.join(' ') : '')
