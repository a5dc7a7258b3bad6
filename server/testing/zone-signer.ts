import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { decode } from 'dns-packet'
import { parseDsText } from '../dns/dnssec/dnssec-records.ts'
import { type ValidationInput, validateResponse } from '../dns/dnssec/validate.ts'
import { TYPE } from '../dns/dnssec/wire-records.ts'
import { nameToWire } from '../dns/names.ts'
import type { DnsServer } from './dns-server.ts'
import { packetOf, parseZone, type Response, type ZoneRecord } from './signed-zone.ts'

const UDP_PAYLOAD = 1232
const TRUNCATED = 2

/** When signatures are valid, as `YYYYMMDDHHMMSS`. */
export type SignatureTimes = { from: string; until: string }

const LONG: SignatureTimes = { from: '20200101000000', until: '20400101000000' }

/** Signs records of a zone with a new Ed25519 key. RFC 8080. `flags`: flags and protocol of the DNSKEY record. */
export function createZoneSigner(zone: string, flags = '257 3') {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const octets = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url')
  const keyText = `${zone}. 300 IN DNSKEY ${flags} 15 ${octets.toString('base64')}`
  const [key] = parseZone(keyText) as [ZoneRecord]
  const keyRdata = rdataOf(key)
  const keyTag = tagOf(keyRdata)
  const digest = createHash('sha256').update(nameToWire(zone)).update(keyRdata).digest('hex')

  /** Records of one RRset, in any order, and their signature. */
  function signRrset(text: string, times: SignatureTimes = LONG, signerName = zone): ZoneRecord[] {
    const records = parseZone(text).sort((one, other) => Buffer.compare(rdataOf(one), rdataOf(other)))
    const { name, type } = records[0]!
    const labels = name.split('.').filter((label) => label !== '' && label !== '*').length
    const rrsig = (signature: string) =>
      parseZone(
        `${name}. 300 IN RRSIG ${type} 15 ${labels} 300 ${times.until} ${times.from} ${keyTag} ${signerName}. ${signature}`,
      )[0]!
    const signed = Buffer.concat([rdataOf(rrsig('')), ...records.map(({ wire }) => wire)])
    return [...records, rrsig(sign(null, signed, privateKey).toString('base64'))]
  }

  return {
    keyTag,
    ds: `${keyTag} 15 2 ${digest}`,
    key: keyText,
    signRrset,
    keys: (times?: SignatureTimes) => signRrset(keyText, times),
  }
}

/** The signed zone `example.com`, and what a validator makes of responses of its server. */
export function givenSignedZone() {
  const zone = 'example.com'
  const signer = createZoneSigner(zone)
  const wires = (records: readonly ZoneRecord[]) => records.map(({ wire }) => wire)
  const keyResponse = packetOf({ question: [zone, 'DNSKEY'], answer: wires(signer.keys()) })
  return {
    zone,
    signer,
    wires,
    soa: wires(signer.signRrset(`${zone}. 300 IN SOA ns.${zone}. h.${zone}. 1 2 3 4 5`)),
    validate(response: Response, changes: Partial<ValidationInput> = {}) {
      const [name, type] = response.question
      const question = { name, type: TYPE[type as keyof typeof TYPE] }
      const trust = { zone, ds: [parseDsText(signer.ds)!], keyResponse, now: Date.parse('2026-01-01T00:00:00Z') }
      return validateResponse({ ...trust, response: packetOf(response), question, ...changes })
    },
  }
}

/** Records are uncompressed: name, type, class, TTL and length, then the rdata. */
function rdataOf({ name, wire }: ZoneRecord): Buffer {
  return wire.subarray(nameToWire(name).length + 10)
}

/** RFC 4034 appendix B. */
function tagOf(rdata: Buffer): number {
  let sum = 0
  for (const [index, octet] of rdata.entries()) sum += index % 2 === 0 ? octet * 256 : octet
  return (sum + Math.floor(sum / 65_536)) % 65_536
}

/**
 * Makes a test server answer with these packets, by question: `www.example.com A`. To others, and without the
 * DO bit, it answers without signatures: that there are no records, or with `zone` what it has.
 */
export function serveSigned(
  server: DnsServer,
  responses: readonly Response[],
  others: 'nodata' | 'zone' = 'nodata',
): void {
  server.respond('*', (query, transport) => {
    const { questions = [], additionals = [], id = 0 } = decode(query)
    const isDnssecOk = additionals.some((record) => record.type === 'OPT' && record.flag_do)
    const [{ name, type }] = questions as [{ name: string; type: keyof typeof TYPE }]
    const owner = name === '.' ? '' : name.toLowerCase()
    const isAsked = ({ question }: Response) => question[0] === owner && question[1] === type
    const response = (isDnssecOk && responses.find(isAsked)) || undefined
    if (!response && others === 'zone') return 'zone'
    const whole = packetOf(response ?? { question: [name, type] })
    const isTruncated = transport === 'udp' && whole.length > UDP_PAYLOAD
    const packet = isTruncated ? packetOf({ question: [name, type] }) : whole
    if (isTruncated) packet[2]! |= TRUNCATED
    packet.writeUInt16BE(id)
    return packet
  })
}

/** A DS record as `DnsServer.set` takes it. */
export function dsValue(text: string): string {
  const { keyTag, algorithm, digestType, digest } = parseDsText(text)!
  const head = Buffer.from([keyTag >> 8, keyTag & 255, algorithm, digestType])
  return `\\# ${head.length + digest.length} ${head.toString('hex')}${digest.toString('hex')}`
}
