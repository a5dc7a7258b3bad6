import { RdataReader } from '../rdata.ts'
import { parseOrUndefined, type TypeBitmap, type WireRecord } from './wire-records.ts'

/** RFC 4034 section 2. `rdata` includes the public key. */
export type Dnskey = {
  flags: number
  protocol: number
  algorithm: number
  publicKey: Buffer
  keyTag: number
  rdata: Buffer
}

/** RFC 4034 section 5. */
export type Ds = { keyTag: number; algorithm: number; digestType: number; digest: Buffer }

/** RFC 4034 section 3. `expiration`, `inception`: seconds modulo 2^32. `signedFields`: the rdata before the signature. */
export type Rrsig = {
  typeCovered: number
  algorithm: number
  labels: number
  originalTtl: number
  expiration: number
  inception: number
  keyTag: number
  signer: string
  signature: Buffer
  signedFields: Buffer
}

/** RFC 4034 section 4. `owner` and `next` are canonical names. */
export type Nsec = { owner: string; next: string; types: TypeBitmap }

/** RFC 5155 section 3. `owner`: of the record. */
export type Nsec3 = {
  owner: string
  algorithm: number
  flags: number
  iterations: number
  salt: Buffer
  nextHash: Buffer
  types: TypeBitmap
}

const ZONE_KEY = 0x0100 // RFC 4034 section 2.1.1
const REVOKED = 0x0080 // RFC 5011 section 7

/** Undefined if the rdata is malformed. */
export function parseDnskey(rdata: Buffer): Dnskey | undefined {
  return parse(rdata, (reader) => {
    const [flags, protocol, algorithm] = [reader.uint16(), reader.uint8(), reader.uint8()]
    return { flags, protocol, algorithm, publicKey: reader.remaining(), keyTag: keyTagOf(rdata), rdata }
  })
}

/** Whether a key may sign the zone. RFC 4034 sections 2.1.1 and 2.1.2, RFC 5011 section 2.1. */
export function isZoneKey({ flags, protocol }: Dnskey): boolean {
  return (flags & ZONE_KEY) !== 0 && (flags & REVOKED) === 0 && protocol === 3
}

/** RFC 4034 appendix B. Of algorithm 1 (appendix B.1) no key is used. */
export function keyTagOf(rdata: Buffer): number {
  let sum = 0
  for (let index = 0; index < rdata.length; index++) sum += index & 1 ? rdata[index]! : rdata[index]! << 8
  return (sum + (sum >>> 16)) & 0xffff
}

/** Undefined if the rdata is malformed. */
export function parseDs(rdata: Buffer): Ds | undefined {
  return parse(rdata, (reader) => {
    const [keyTag, algorithm, digestType] = [reader.uint16(), reader.uint8(), reader.uint8()]
    return { keyTag, algorithm, digestType, digest: reader.remaining() }
  })
}

/** From canonical text: `60485 5 1 2bb183af…`. Undefined if it is not that. */
export function parseDsText(text: string): Ds | undefined {
  const [, keyTag, algorithm, digestType, digest] = text.match(/^(\d+) (\d+) (\d+) ([0-9a-f]+)$/i) ?? []
  if (digest === undefined) return undefined
  const numbers = { keyTag: Number(keyTag), algorithm: Number(algorithm), digestType: Number(digestType) }
  return { ...numbers, digest: Buffer.from(digest, 'hex') }
}

/** Undefined if the rdata is malformed. */
export function parseRrsig(rdata: Buffer): Rrsig | undefined {
  return parse(rdata, (reader) => {
    const fields = {
      typeCovered: reader.uint16(),
      algorithm: reader.uint8(),
      labels: reader.uint8(),
      originalTtl: reader.uint32(),
      expiration: reader.uint32(),
      inception: reader.uint32(),
      keyTag: reader.uint16(),
      signer: canonicalName(reader),
    }
    const signature = reader.remaining()
    return { ...fields, signature, signedFields: rdata.subarray(0, rdata.length - signature.length) }
  })
}

/** Undefined if the rdata is malformed. */
export function parseNsec({ name, rdata }: WireRecord): Nsec | undefined {
  return parse(rdata, (reader) => ({ owner: name, next: canonicalName(reader), types: readTypes(reader) }))
}

/** Undefined if the rdata is malformed. */
export function parseNsec3({ name, rdata }: WireRecord): Nsec3 | undefined {
  return parse(rdata, (reader) => ({
    owner: name,
    algorithm: reader.uint8(),
    flags: reader.uint8(),
    iterations: reader.uint16(),
    salt: reader.characterString(),
    nextHash: reader.characterString(),
    types: readTypes(reader),
  }))
}

/** The name in the canonical rdata of a CNAME or DNAME record. */
export function parseTarget(rdata: Buffer): string | undefined {
  return parse(rdata, canonicalName)
}

// Compression pointers are refused here, because they must point to an offset after a header.
function parse<T>(rdata: Buffer, read: (reader: RdataReader) => T): T | undefined {
  return parseOrUndefined(() => read(new RdataReader({ octets: rdata, tails: new Map() }, 0, rdata.length)))
}

function canonicalName(reader: RdataReader): string {
  const name = reader.name()
  return name === '.' ? '' : name
}

/** Window blocks in ascending order. RFC 4034 section 4.1.2. */
function readTypes(reader: RdataReader): TypeBitmap {
  const windows = new Map<number, Buffer>()
  for (let last = -1; !reader.isAtEnd; ) {
    const window = reader.uint8()
    const length = reader.uint8()
    if (window <= last || length === 0 || length > 32) throw reader.malformed('a type bitmap is invalid')
    windows.set(window, reader.octets(length))
    last = window
  }
  return {
    has(type) {
      const octet = windows.get(type >> 8)?.[(type & 0xff) >> 3] ?? 0
      return (octet & (0x80 >> (type & 7))) !== 0
    },
  }
}
