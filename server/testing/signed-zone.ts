import { readFileSync } from 'node:fs'
import { TYPE } from '../dns/dnssec/wire-records.ts'
import { addressOctets } from '../dns/ip-addresses.ts'
import { writeName } from '../dns/names.ts'

/** One record of a zone file as it is on the wire, uncompressed. `covers`: of a signature. */
export type ZoneRecord = { name: string; type: string; wire: Buffer; covers?: string }

/** Reads a file of one-line records: `example. 3600 IN NS ns1.example.`. Lines that begin with a semicolon are comments. */
export function readZone(file: string): ZoneRecord[] {
  return parseZone(readFileSync(file, 'utf8'))
}

export function parseZone(text: string): ZoneRecord[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith(';'))
  return lines.map((line) => {
    const [owner = '', ttl = '', , type = '', ...fields] = line.trim().split(/\s+/)
    const rdata = rdataOf(type, fields)
    const fixed = Buffer.alloc(10)
    fixed.writeUInt16BE(codeOf(type), 0)
    fixed.writeUInt16BE(1, 2)
    fixed.writeUInt32BE(Number(ttl), 4)
    fixed.writeUInt16BE(rdata.length, 8)
    const wire = Buffer.concat([nameOf(owner), fixed, rdata])
    return { name: canonical(owner), type, wire, ...(type === 'RRSIG' && { covers: fields[0]! }) }
  })
}

export type Response = {
  question: readonly [name: string, type: string]
  rcode?: number
  answer?: readonly Buffer[]
  authority?: readonly Buffer[]
}

/** An authoritative response. */
export function packetOf({ question: [name, type], rcode = 0, answer = [], authority = [] }: Response): Buffer {
  const header = Buffer.alloc(12)
  header.writeUInt16BE(0x8400 | rcode, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(answer.length, 6)
  header.writeUInt16BE(authority.length, 8)
  const end = Buffer.alloc(4)
  end.writeUInt16BE(codeOf(type), 0)
  end.writeUInt16BE(1, 2)
  return Buffer.concat([header, nameOf(name), end, ...answer, ...authority])
}

/** The RRset of a zone with its signatures. `owner`: the name in the response, if it is from a wildcard. */
export function signedRrset(zone: readonly ZoneRecord[], name: string, type: string, owner = name): Buffer[] {
  const records = zone.filter((each) => each.name === name && (each.type === type || each.covers === type))
  if (records.length === 0) throw new Error(`The zone has no ${name} ${type}.`)
  return records.map(({ wire }) => Buffer.concat([nameOf(owner), wire.subarray(nameOf(name).length)]))
}

const canonical = (name: string) => name.replace(/\.$/, '').toLowerCase()

function nameOf(text: string): Buffer {
  const octets = Buffer.alloc(300)
  return octets.subarray(0, writeName(octets, 0, canonical(text)))
}

function codeOf(type: string): number {
  const code = { ...TYPE, HINFO: 13, NSEC3PARAM: 51 }[type] ?? Number(type.replace('TYPE', ''))
  if (!Number.isInteger(code)) throw new Error(`Unknown type ${type}`)
  return code
}

function rdataOf(type: string, fields: string[]): Buffer {
  const [first = '', second = '', third = ''] = fields
  switch (type) {
    case 'A':
    case 'AAAA':
      return Buffer.from(addressOctets(first)!)
    case 'NS':
    case 'CNAME':
    case 'DNAME':
      return nameOf(first)
    case 'MX':
      return Buffer.concat([number(first, 2), nameOf(second)])
    case 'SOA':
      return Buffer.concat([nameOf(first), nameOf(second), ...fields.slice(2).map((field) => number(field, 4))])
    case 'HINFO':
    case 'TXT':
      return Buffer.concat(fields.map((field) => text(field.replaceAll('"', ''))))
    case 'DS':
      return Buffer.concat([number(first, 2), number(second, 1), number(third, 1), hex(fields.slice(3))])
    case 'DNSKEY':
      return Buffer.concat([number(first, 2), number(second, 1), number(third, 1), base64(fields.slice(3))])
    case 'RRSIG':
      return rrsig(fields)
    case 'NSEC':
      return Buffer.concat([nameOf(first), bitmap(fields.slice(1))])
    case 'NSEC3PARAM':
      return nsec3Parameters(fields)
    case 'NSEC3':
      return Buffer.concat([nsec3Parameters(fields), lengthAndBase32(fields[4]!), bitmap(fields.slice(5))])
    default:
      throw new Error(`No encoder for ${type}`)
  }
}

function rrsig([
  covers = '',
  algorithm = '',
  labels = '',
  ttl = '',
  until = '',
  from = '',
  tag = '',
  signer = '',
  ...signature
]: string[]) {
  const fixed = [number(algorithm, 1), number(labels, 1), number(ttl, 4), seconds(until), seconds(from), number(tag, 2)]
  return Buffer.concat([number(String(codeOf(covers)), 2), ...fixed, nameOf(signer), base64(signature)])
}

function nsec3Parameters([algorithm = '', flags = '', iterations = '', salt = '']: string[]): Buffer {
  const octets = salt === '-' ? Buffer.alloc(0) : hex([salt])
  return Buffer.concat([
    number(algorithm, 1),
    number(flags, 1),
    number(iterations, 2),
    Buffer.from([octets.length]),
    octets,
  ])
}

function number(text: string, octets: number): Buffer {
  const buffer = Buffer.alloc(octets)
  buffer.writeUIntBE(Number(text), 0, octets)
  return buffer
}

/** `YYYYMMDDHHMMSS`. RFC 4034 section 3.2. */
function seconds(text: string): Buffer {
  const [, year, month, day, hour, minute, second] = text.match(/^(....)(..)(..)(..)(..)(..)$/)!
  return number(String(Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) / 1000), 4)
}

const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'latin1')])
const hex = (parts: string[]) => Buffer.from(parts.join(''), 'hex')
const base64 = (parts: string[]) => Buffer.from(parts.join(''), 'base64')

function lengthAndBase32(value: string): Buffer {
  const digits = [...value.toLowerCase()].map((character) => '0123456789abcdefghijklmnopqrstuv'.indexOf(character))
  const bits = digits.map((digit) => digit.toString(2).padStart(5, '0')).join('')
  const octets = bits.match(/.{8}/g)!.map((octet) => Number.parseInt(octet, 2))
  return Buffer.from([octets.length, ...octets])
}

/** RFC 4034 section 4.1.2. */
function bitmap(types: string[]): Buffer {
  const windows = Map.groupBy(types.map(codeOf), (code) => code >> 8)
  const sorted = [...windows].sort(([one], [other]) => one - other)
  return Buffer.concat(
    sorted.map(([window, codes]) => {
      const octets = Buffer.alloc(((Math.max(...codes) & 0xff) >> 3) + 1)
      for (const code of codes) octets[(code & 0xff) >> 3]! |= 0x80 >> (code & 7)
      return Buffer.from([window, octets.length, ...octets])
    }),
  )
}
