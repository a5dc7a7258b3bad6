import type { QuestionType } from './outcome.ts'
import { MalformedPacket, type Packet, readName, readUint8, readUint16, readUint32 } from './wire.ts'

/**
 * How the rdata of one record type is read. `code`: RFC 6895 section 3.1. `read` returns canonical text, the same for all rdata
 * that means the same; what it leaves unread makes the record malformed. Throws `MalformedPacket`.
 */
export type RdataFormat = { code: number; read(rdata: RdataReader): string }

/** The record types that the client can query. */
export type RdataFormats = Readonly<Record<QuestionType, RdataFormat>>

type Type = { type: QuestionType; format: RdataFormat }

/** The same by their numbers, too. */
export type RdataTypes = { codeOf(type: QuestionType): number; find(code: number): Type | undefined }

export function createRdataTypes(formats: RdataFormats): RdataTypes {
  const entries = Object.entries(formats) as [QuestionType, RdataFormat][] // its keys are those of the type
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

/** The rdata of one record, read from front to back. Each method that reads throws `MalformedPacket` where too few octets are left. */
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

  /** A canonical name, the root a single dot. Compressed names are read in every type: RFC 3597 section 4. */
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

  /** Whatever is left. */
  remaining(): Buffer {
    return this.octets(this.#end - this.#at)
  }

  /** A `character-string`: its length in one octet, and its octets. RFC 1035 section 3.3. */
  characterString(): Buffer {
    return this.octets(this.uint8())
  }

  /** What `read` throws when the octets break a rule of the type. */
  malformed(reason: string): MalformedPacket {
    return new MalformedPacket(reason)
  }
}
