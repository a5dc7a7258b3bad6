import { parseDnskey, parseRrsig, parseTarget } from '../dns/dnssec/dnssec-records.ts'
import { serialToInstant } from '../dns/dnssec/signatures.ts'
import { QUERY_TIMEOUT_MS, querySigned } from '../dns/dnssec/signed-query.ts'
import { decodeSignedMessage, FLAG_AA, type SignedMessage, TYPE, typeName } from '../dns/dnssec/wire-records.ts'
import type { ValidationCall } from '../dns/dnssec-validator.ts'
import type { PacketSender } from '../dns/packet-sender.ts'
import type { QueryBudget } from '../dns/resolver/query-budget.ts'
import type { KeyFacts, ServerResponse, SignatureFacts, Soa } from './facts.ts'
import { parseSoa } from './soa.ts'

export type ServerQueries = {
  packetSender: PacketSender
  port: number
  timeoutMs?: number
  zone: string
  /** Whether the zone has, or may have, DS records. */
  isSigned: boolean
  call: ValidationCall & { budget: QueryBudget }
  clock: { now(): number }
}

/** An address that does not respond may only be unreachable from here. */
const MAX_ADDRESSES = 2
const NSEC3PARAM = 51
/** Of a hostile zone. */
const MAX_RECORDS = 26

/** Asks one name server for the records of the apex, at the first of its addresses that responds. */
export async function askServer(queries: ServerQueries, ips: readonly string[]): Promise<ServerResponse> {
  if (ips.length === 0) return { kind: 'no_address' }
  for (const ip of ips.slice(0, MAX_ADDRESSES)) {
    const message = await ask(queries, ip, TYPE.SOA)
    if (message) return await readResponse(queries, ip, message)
  }
  // What was not asked is not silent.
  return { kind: isExhausted(queries) ? 'unknown' : 'silent' }
}

async function readResponse(queries: ServerQueries, ip: string, message: SignedMessage): Promise<ServerResponse> {
  const { zone, isSigned, clock } = queries
  if (message.rcode !== 'NOERROR' && message.rcode !== 'NXDOMAIN') return { kind: 'refuses', rcode: message.rcode }
  const soa = soaIn(message, zone)
  if (!soa || !(message.flags & FLAG_AA)) return { kind: 'lame' }
  const [overTcp, nameServers, keys] = await Promise.all([
    ask(queries, ip, TYPE.SOA, 'tcp'),
    ask(queries, ip, TYPE.NS),
    isSigned ? ask(queries, ip, TYPE.DNSKEY) : undefined,
  ])
  return {
    kind: 'answers',
    soa,
    nameServers: namesIn(nameServers, zone),
    signatures: [message, nameServers, keys].flatMap((each) => signaturesIn(each, zone, clock.now())),
    keys: keysIn(keys, zone),
    tcp: overTcp ? soaIn(overTcp, zone) !== undefined : isExhausted(queries) ? null : false,
    verdict: null,
  }
}

/** Null without an NSEC3PARAM record, or if unknown. RFC 5155 section 4. */
export async function askNsec3Iterations(queries: ServerQueries, ips: readonly string[]): Promise<number | null> {
  const [ip] = ips
  const message = ip === undefined ? undefined : await ask(queries, ip, NSEC3PARAM)
  const parameters = recordsIn(message, queries.zone, NSEC3PARAM).filter((rdata) => rdata.length >= 5)
  return parameters.length === 0 ? null : Math.max(...parameters.map((rdata) => rdata.readUInt16BE(2)))
}

async function ask(queries: ServerQueries, ip: string, type: number, transport?: 'tcp') {
  const { packetSender, port, timeoutMs = QUERY_TIMEOUT_MS, zone, call } = queries
  const { signal, group, budget } = call
  const options = { timeoutMs, signal, group, budget, zone, ...(transport && { transport }) }
  const packet = await querySigned(packetSender, { ip, port }, { name: zone, type }, options)
  return packet && decodeSignedMessage(packet)
}

const isExhausted = ({ call: { budget }, zone }: ServerQueries) => budget.leftFor(zone) <= 0

function recordsIn(message: SignedMessage | undefined, zone: string, type: number): Buffer[] {
  const records = message?.answer.filter((record) => record.type === type && record.name === zone) ?? []
  return records.slice(0, MAX_RECORDS).map(({ rdata }) => rdata)
}

function soaIn(message: SignedMessage, zone: string): Soa | undefined {
  const [rdata] = recordsIn(message, zone, TYPE.SOA)
  return rdata && parseSoa(rdata)
}

function namesIn(message: SignedMessage | undefined, zone: string): string[] | null {
  const names = recordsIn(message, zone, TYPE.NS).flatMap((rdata) => parseTarget(rdata) ?? [])
  return names.length === 0 ? null : [...new Set(names)].sort()
}

function keysIn(message: SignedMessage | undefined, zone: string): KeyFacts[] | null {
  const keys = recordsIn(message, zone, TYPE.DNSKEY).flatMap((rdata) => parseDnskey(rdata) ?? [])
  return keys.length === 0 ? null : keys.map(({ keyTag, algorithm }) => ({ keyTag, algorithm }))
}

const COVERED: readonly number[] = [TYPE.SOA, TYPE.NS, TYPE.DNSKEY]

/** Those of the zone itself. */
function signaturesIn(message: SignedMessage | undefined, zone: string, now: number): SignatureFacts[] {
  const signatures = recordsIn(message, zone, TYPE.RRSIG).flatMap((rdata) => parseRrsig(rdata) ?? [])
  return signatures
    .filter(({ signer, typeCovered }) => signer === zone && COVERED.includes(typeCovered))
    .map(({ typeCovered, keyTag, inception, expiration }) => ({
      type: typeName(typeCovered),
      keyTag,
      inception: serialToInstant(inception, now),
      expiration: serialToInstant(expiration, now),
    }))
}
