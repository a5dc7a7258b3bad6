import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { packetOf, type Response, readZone, signedRrset } from '../../testing/signed-zone.ts'
import { nameToWire } from '../names.ts'
import { compareNames } from './name-order.ts'
import { validateResponse } from './validate.ts'
import { decodeSignedMessage, TYPE, type WireRecord } from './wire-records.ts'

const zone = readZone('server/testing/fixtures/dnssec/rfc4035-example.zone')
const keyResponse = packetOf({ question: ['example', 'DNSKEY'], answer: signedRrset(zone, 'example', 'DNSKEY') })
const key = decodeSignedMessage(keyResponse)!.answer.find(({ type, rdata }) => type === TYPE.DNSKEY && rdata[1] === 1)!
const digest = createHash('sha256').update(nameToWire('example')).update(key.rdata).digest()
const trust = {
  zone: 'example',
  ds: [{ keyTag: 9465, algorithm: 5, digestType: 2, digest }],
  now: Date.parse('2004-04-20'),
}

const nsec = (...owners: string[]) => owners.flatMap((owner) => signedRrset(zone, owner, 'NSEC'))
const RESPONSES: Response[] = [
  { question: ['x.w.example', 'MX'], answer: signedRrset(zone, 'x.w.example', 'MX') },
  { question: ['ml.example', 'A'], rcode: 3, authority: nsec('b.example', 'example') },
  { question: ['ns1.example', 'MX'], authority: nsec('ns1.example') },
  {
    question: ['a.z.w.example', 'MX'],
    answer: signedRrset(zone, '*.w.example', 'MX', 'a.z.w.example'),
    authority: nsec('x.y.w.example'),
  },
]
const original = RESPONSES.map((response) => {
  const [name, type] = response.question
  return { name, type: TYPE[type as keyof typeof TYPE], response: packetOf(response) }
})

const edits = fc.array(fc.record({ at: fc.nat(), flip: fc.integer({ min: 1, max: 255 }) }), {
  minLength: 1,
  maxLength: 4,
})
const validate = ({ name, type }: { name: string; type: number }, keys: Buffer, response: Buffer) =>
  validateResponse({ ...trust, keyResponse: keys, response, question: { name, type } })

function changed(octets: Buffer, changes: readonly { at: number; flip: number }[], from: number): Buffer {
  const copy = Buffer.from(octets)
  for (const { at, flip } of changes) copy[from + (at % (copy.length - from))]! ^= flip
  return copy
}

/** What a reader takes from the response: the records of the question and the response code. */
function meaning(octets: Buffer, name: string, type: number): unknown {
  const message = decodeSignedMessage(octets)
  const isAsked = (record: WireRecord) => record.name === name && record.type === type
  const values = message?.answer.filter(isAsked).map(({ rdata }) => rdata.toString('hex'))
  return { rcode: message?.rcode, values: [...new Set(values)].sort() }
}

test('the unchanged responses are secure', () => {
  for (const each of original) expect(validate(each, keyResponse, each.response)).toMatchObject({ kind: 'secure' })
})

test('a changed response that is secure means the same', () => {
  fc.assert(
    fc.property(fc.constantFrom(...original), edits, (each, changes) => {
      const response = changed(each.response, changes, 2)
      const verdict = validate(each, keyResponse, response)
      if (verdict.kind !== 'secure') return
      expect(meaning(response, each.name, each.type)).toEqual(meaning(each.response, each.name, each.type))
    }),
    { numRuns: 3_000 },
  )
})

test('changed keys make no other response secure', () => {
  fc.assert(
    fc.property(fc.constantFrom(...original), edits, edits, (each, changes, others) => {
      const response = changed(each.response, others, 2)
      const verdict = validate(each, changed(keyResponse, changes, 2), response)
      if (verdict.kind !== 'secure') return
      expect(meaning(response, each.name, each.type)).toEqual(meaning(each.response, each.name, each.type))
    }),
    { numRuns: 1_000 },
  )
})

test('no octets make it throw, or verify', () => {
  const octets = fc.uint8Array({ maxLength: 600 }).map((array) => Buffer.from(array))
  const withHeader = octets.map((body) =>
    Buffer.concat([Buffer.from('00008400000100020002000000', 'hex').subarray(0, 12), body]),
  )
  fc.assert(
    fc.property(fc.constantFrom(...original), fc.oneof(octets, withHeader), fc.boolean(), (each, noise, isKey) => {
      const verdict = isKey ? validate(each, noise, each.response) : validate(each, keyResponse, noise)
      expect(verdict.kind).not.toBe('secure')
    }),
    { numRuns: 2_000 },
  )
})

test('a response that is cut anywhere, or whose rest is noise, is not secure', () => {
  fc.assert(
    fc.property(fc.constantFrom(...original), fc.nat(), fc.uint8Array({ maxLength: 40 }), (each, at, noise) => {
      const packet = Buffer.concat([each.response.subarray(0, at % each.response.length), noise])
      fc.pre(!packet.subarray(0, each.response.length).equals(each.response))
      expect(validate(each, keyResponse, packet).kind).not.toBe('secure')
    }),
    { numRuns: 1_000 },
  )
})

// RFC 4034 section 6.1.
test('names are in canonical order', () => {
  const names = ['example', 'a.example', 'yljkjljk.a.example', 'z.a.example', 'zabc.a.example', 'z.example']
  const more = ['\\001.z.example', '*.z.example', '\\200.z.example']
  const sorted = [...names, ...more]
  fc.assert(
    fc.property(fc.shuffledSubarray(sorted, { minLength: 2 }), (shuffled) => {
      expect(shuffled.toSorted(compareNames)).toEqual(sorted.filter((name) => shuffled.includes(name)))
    }),
  )
})
