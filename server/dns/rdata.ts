import type { QuestionType } from './outcome.ts'
import { MalformedPacket, type Packet, readName, readUint8, readUint16, readUint32 } from './wire.ts'

/**
 * `code`: of the record type, RFC 6895 section 3.1. `read` returns canonical text, which is the same for equivalent rdata. The
 * record is malformed if it does not read all octets. Throws `MalformedPacket`.
 */
export type RdataFormat = { code: number; read(rdata: RdataReader): string }

/** The record types that the client can query. */
export type RdataFormats = Readonly<Record<QuestionType, RdataFormat>>

type Type = { type: QuestionType; format: RdataFormat }

/** The record types by name and by code. */
export type RdataTypes = { codeOf(type: QuestionType): number; find(code: number): Type | undefined }

export function createRdataTypes(formats: RdataFormats): RdataTypes {
  const entries = Object.entries(formats) as [QuestionType, RdataFormat][] // Object.entries types the keys as string
  const types = new Map(entries.map(([type, format]) => [format.code, { type, format }]))
  return { codeOf: (type) => formats[type].code, find: (code) => types.get(code) }
}

/** The canonical text of the rdata between `at` and `end`. Throws `MalformedPacket`. */
export function rdataText(format: RdataFormat, packet: Packet, at: number, end: number): string {
  const rdata = new RdataReader(packet, at, end)
  const text = format.read(rdata)
  if (!rdata.isAtEnd) throw new MalformedPacket('a record has octets after its rdata')
  return text
}

/** Reads the rdata of one record from front to back. Throws `MalformedPacket` if too few octets are left. */
export class RdataReader {
  readonly #packet: Packet
  #at: number
  readonly #end: number

  constructor(packet: Packet, at: number, end: number) {
    this.#packet = packet
    this.#at = at
    this.#end = end
  }

  get isAtEnd(): boolean {
    return this.#at === this.#end
  }

  uint8(): number {
    const value = readUint8(this.#packet, this.#at, this.#end)
    this.#at += 1
    return value
  }

  uint16(): number {
    const value = readUint16(this.#packet, this.#at, this.#end)
    this.#at += 2
    return value
  }

  uint32(): number {
    const value = readUint32(this.#packet, this.#at, this.#end)
    this.#at += 4
    return value
  }

  /** A canonical name; the root is a single dot. Names may be compressed in every type: RFC 3597 section 4. */
  name(): string {
    const { name, next } = readName(this.#packet, this.#at, this.#end)
    this.#at = next
    return name === '' ? '.' : name
  }

  octets(length: number): Buffer {
    const from = this.#at
    if (from + length > this.#end) throw new MalformedPacket('a record has the wrong length')
    this.#at += length
    return this.#packet.octets.subarray(from, this.#at)
  }

  remaining(): Buffer {
    return this.octets(this.#end - this.#at)
  }

  /** Its length in one octet, then its octets. RFC 1035 section 3.3. */
  characterString(): Buffer {
    return this.octets(this.uint8())
  }

  /** The error to throw if the rdata violates a rule of its type. */
  malformed(reason: string): MalformedPacket {
    return new MalformedPacket(reason)
  }
}
