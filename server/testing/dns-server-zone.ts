import type { Answer } from 'dns-packet'
import type { QuestionType } from '../dns/outcome.ts'
import { RDATA_FORMATS } from '../monitors/record-types/record-types.ts'

/** The names and records of a test DNS server, looked up as a recursive server would. */
export type Zone = {
  /** `values` in canonical text, of types that are not in `toAnswer` as octets: `\\# 4 c0000201`. An empty list makes the name exist without records of the type. */
  set(name: string, type: QuestionType, values: string[], ttl: number): void
  remove(name: string, type: QuestionType): void
  lookUp(name: string, type: string, chase: boolean): Found
}

export type Found = {
  rcode: 'NOERROR' | 'NXDOMAIN'
  answers: Answer[]
  authorities: Answer[]
  additionals?: Answer[]
  isReferral?: true
}

type RecordSet = { type: QuestionType; values: string[]; ttl: number }

const MAX_CHAIN = 20

export function createZone(): Zone {
  const names = new Map<string, Map<string, RecordSet>>()
  const below = new Map<string, number>() // how many names stand at or below each
  const isThere = (name: string) => below.has(name)

  function count(name: string, step: number): void {
    for (let at: string | undefined = name; at !== undefined; at = parentOf(at)) {
      const now = (below.get(at) ?? 0) + step
      if (now === 0) below.delete(at)
      else below.set(at, now)
    }
  }

  // RFC 4592: a wildcard answers for names below the closest one that exists.
  function recordsOf(name: string): Map<string, RecordSet> | undefined {
    if (isThere(name)) return names.get(name) ?? new Map()
    for (let parent = parentOf(name); parent !== undefined; parent = parentOf(parent)) {
      const wildcard = names.get(parent === '' ? '*' : `*.${parent}`)
      if (wildcard || isThere(parent)) return wildcard
    }
    return undefined
  }

  function follow(name: string, type: string, answers: Answer[]): string {
    const aliases = type === 'CNAME' ? undefined : recordsOf(name)?.get('CNAME')
    if (!aliases?.values[0] || answers.length > MAX_CHAIN) return name
    answers.push(...aliases.values.map((value) => toAnswer(name, 'CNAME', value, aliases.ttl)))
    return follow(lower(aliases.values[0]), type, answers)
  }

  return {
    set(name, type, values, ttl) {
      const owner = lower(name)
      const records = names.get(owner) ?? new Map<string, RecordSet>()
      if (!names.has(owner)) count(owner, 1)
      names.set(owner, records.set(type, { type, values, ttl }))
    },
    remove(name, type) {
      const owner = lower(name)
      const records = names.get(owner)
      if (!records?.delete(type) || records.size > 0) return
      names.delete(owner)
      count(owner, -1)
    },
    lookUp(name, type, chase) {
      const answers: Answer[] = []
      const last = follow(lower(name), type, answers)
      if (!chase && answers.length > 0) return { rcode: 'NOERROR', answers: answers.slice(0, 1), authorities: [] }
      const records = recordsOf(last)
      const set = records?.get(type)
      if (!set || set.values.length === 0) {
        const tooLong = answers.length > MAX_CHAIN
        const authorities = tooLong ? [] : [startOfAuthority(last, names)]
        return { rcode: records ? 'NOERROR' : 'NXDOMAIN', answers, authorities }
      }
      answers.push(...set.values.map((value) => toAnswer(last, set.type, value, set.ttl)))
      return { rcode: 'NOERROR', answers, authorities: [] }
    },
  }
}

function startOfAuthority(name: string, names: Map<string, Map<string, RecordSet>>): Answer {
  for (let zone: string | undefined = name; zone !== undefined; zone = parentOf(zone)) {
    const set = names.get(zone)?.get('SOA')
    if (set) return toAnswer(zone, 'SOA', set.values[0]!, set.ttl)
  }
  const zone = name.split('.').slice(-2).join('.')
  return toAnswer(zone, 'SOA', `ns.${zone} hostmaster.${zone} 1 7200 3600 1209600 60`, 60)
}

export function toAnswer(name: string, type: QuestionType, value: string, ttl: number): Answer {
  if (value.startsWith('\\# ')) {
    const data = octetsOf(value)
    return { type: `UNKNOWN_${RDATA_FORMATS[type].code}`, name, ttl, data } as unknown as Answer // any number is encoded
  }
  switch (type) {
    case 'A':
    case 'AAAA':
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return { type, name, ttl, data: value }
    case 'MX': {
      const [preference, exchange = ''] = value.split(' ')
      return { type, name, ttl, data: { preference: Number(preference), exchange } }
    }
    case 'TXT':
      return { type, name, ttl, data: chunks(Buffer.from(value)) }
    case 'CAA': {
      const [, flags, tag, quoted = ''] = value.match(/^(\d+) (\S+) "(.*)"$/s) ?? []
      if (tag === undefined) throw new Error(`Not a CAA record: ${value}`)
      const text = quoted.replace(/\\(["\\])/g, '$1')
      return { type, name, ttl, data: { flags: Number(flags), tag: tag as 'issue', value: text } } // any tag is encoded
    }
    case 'SOA': {
      const [mname = '', rname = '', ...numbers] = value.split(' ')
      const [serial, refresh, retry, expire, minimum] = numbers.map(Number)
      return {
        type,
        name,
        ttl,
        data: { mname, rname, serial: serial!, refresh: refresh!, retry: retry!, expire: expire!, minimum: minimum! },
      }
    }
    default:
      throw new Error(`A test server takes ${type} as octets only: \\# 4 c0000201`)
  }
}

/** Of `\\# 4 c0000201`. RFC 3597 section 5. */
function octetsOf(value: string): Buffer {
  const [, length, hex = ''] = value.split(' ')
  const octets = Buffer.from(hex, 'hex')
  if (octets.length !== Number(length)) throw new Error(`Not rdata in octets: ${value}`)
  return octets
}

function chunks(text: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at === 0 || at < text.length; at += 255) parts.push(text.subarray(at, at + 255))
  return parts
}

export function parentOf(name: string): string | undefined {
  if (name === '') return undefined
  const dot = name.indexOf('.')
  return dot < 0 ? '' : name.slice(dot + 1)
}

export function lower(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
