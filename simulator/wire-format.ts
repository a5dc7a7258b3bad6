import {
  type Answer,
  AUTHENTIC_DATA,
  AUTHORITATIVE_ANSWER,
  encode,
  type Question,
  RECURSION_AVAILABLE,
} from 'dns-packet'
import type { Response, RRset } from './dns/message.ts'

const RCODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const
const RECURSION_DESIRED = 256

/** The packet of a response. `question`: as it was sent, with its letter case. */
export function encodeResponse(id: number, question: Question, response: Response, options: EncodeOptions): Buffer {
  const { hasEdns, isRecursive } = options
  const mode = isRecursive ? RECURSION_AVAILABLE | RECURSION_DESIRED : response.aa ? AUTHORITATIVE_ANSWER : 0
  return encode({
    type: 'response',
    id,
    flags: mode | (response.ad ? AUTHENTIC_DATA : 0) | RCODES[response.rcode],
    questions: [question],
    answers: response.answer.flatMap(toRecords),
    authorities: response.authority.flatMap(toRecords),
    additionals: [...response.additional.flatMap(toRecords), ...(hasEdns ? [optRecord(response.ede)] : [])],
  })
}

type EncodeOptions = { hasEdns: boolean; isRecursive: boolean }

export function optRecord(ede: readonly number[] = []): Answer {
  const options = ede.map((code) => ({ code: 15, data: Buffer.from([code >> 8, code & 255]) }))
  const opt = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: 1232,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
  }
  return { ...opt, options } as unknown as Answer // dns-packet's type lacks raw options
}

function toRecords({ name, type, ttl, values, minimum }: RRset): Answer[] {
  const owner = name || '.'
  return values.map((value): Answer => {
    if (type === 'SOA') {
      const [mname, rname, serial] = value.split(' ')
      const times = { refresh: 3_600, retry: 600, expire: 86_400, minimum: minimum ?? ttl }
      return { name: owner, type, ttl, data: { mname: mname!, rname: rname!, serial: Number(serial), ...times } }
    }
    if (type === 'MX') {
      const [preference, exchange] = value.split(' ')
      return { name: owner, type, ttl, data: { preference: Number(preference), exchange: exchange! } }
    }
    const key = Buffer.from(value)
    if (type === 'DS') return { name: owner, type, ttl, data: { keyTag: 1, algorithm: 13, digestType: 2, digest: key } }
    if (type === 'DNSKEY') return { name: owner, type, ttl, data: { flags: 257, algorithm: 13, key } }
    return { name: owner, type, ttl, data: value } as Answer
  })
}
