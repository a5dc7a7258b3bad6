import { nameToWire } from '../names.ts'
import type { ServerAddress } from '../outcome.ts'
import type { PacketSender, SendOptions } from '../packet-sender.ts'
import type { QueryBudget } from '../resolver/query-budget.ts'
import { MAX_UDP_OCTETS } from '../transport.ts'
import { CLASS_IN, TYPE_OPT } from '../wire.ts'
import type { SignedQuestion } from './validate.ts'

/** In octets, as for all queries of Zonewatch. Signed responses are often larger, and are then repeated over TCP. */
const UDP_PAYLOAD = 1232
const DNSSEC_OK = 0x8000 // RFC 4035 section 3.2.1
const TRUNCATED = 0x0200
const ATTEMPTS = 2
export const QUERY_TIMEOUT_MS = 1_000

/** `zone`: of the server. `budget`: of the check. `transport`: by default UDP, and TCP if the response is truncated. */
export type SignedQueryOptions = Omit<SendOptions, 'transport'> & {
  zone: string
  budget?: QueryBudget | undefined
  transport?: 'tcp'
}

/**
 * The response of one authoritative server with its signatures. Undefined if none came in time, or if the budget is exhausted. Rejects
 * with the signal's reason, and with `OverloadError`. `timeoutMs`: of one attempt, of which there are at most three.
 */
export async function querySigned(
  sender: PacketSender,
  server: ServerAddress,
  question: SignedQuestion,
  { zone, budget, transport, ...options }: SignedQueryOptions,
): Promise<Buffer | undefined> {
  const send = async (transport: 'udp' | 'tcp') => {
    if (budget && budget.leftFor(zone) <= 0) return undefined
    budget?.spend(zone, 1)
    if (transport === 'tcp') await budget?.takePlace(options.signal)
    return await sender.sendPacket(encodeSignedQuery(question), server, { ...options, transport })
  }
  let packet: Buffer | undefined
  for (let attempt = 0; attempt < ATTEMPTS && !packet; attempt++) packet = await send(transport ?? 'udp')
  return packet && !transport && isTooLarge(packet) ? await send('tcp') : packet
}

function isTooLarge(packet: Buffer): boolean {
  return packet.length > MAX_UDP_OCTETS || (packet.length >= 4 && (packet.readUInt16BE(2) & TRUNCATED) !== 0)
}

/** Without recursion. The id is 0: the transport writes a random one. */
function encodeSignedQuery({ name, type }: SignedQuestion): Buffer {
  const owner = nameToWire(name)
  const packet = Buffer.alloc(12 + owner.length + 4 + 11)
  packet.writeUInt16BE(1, 4) // questions
  packet.writeUInt16BE(1, 10) // additional records: OPT, RFC 6891 section 6.1.2
  owner.copy(packet, 12)
  const at = 12 + owner.length
  packet.writeUInt16BE(type, at)
  packet.writeUInt16BE(CLASS_IN, at + 2)
  packet.writeUInt16BE(TYPE_OPT, at + 5)
  packet.writeUInt16BE(UDP_PAYLOAD, at + 7)
  packet.writeUInt16BE(DNSSEC_OK, at + 11)
  return packet
}
